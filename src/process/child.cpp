// SPDX-License-Identifier: Apache-2.0
#include "process/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>

#include "base/text.h"

namespace trainstep::process {
namespace {

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return internal_error(fmt::format("cannot create a pipe: {}", std::strerror(errno)));
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// A pipe for output: large, so that a fast writer is woken less often, and non-blocking on our side. If the kernel grants a smaller one, that
// suffices.
Result<Pipe> make_output_pipe() {
  ASSIGN(auto pipe, make_pipe());
  ::fcntl(pipe.read.get(), F_SETPIPE_SZ, 1 << 20);
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

std::vector<std::string> environment_block(const Variables& variables) {
  std::map<std::string_view, std::size_t> position;
  std::vector<std::string> block;
  for (const auto& [name, value] : variables) {
    auto entry = fmt::format("{}={}", name, value);
    const auto [known, fresh] = position.emplace(name, block.size());
    if (fresh)
      block.push_back(std::move(entry));
    else
      block[known->second] = std::move(entry);
  }
  return block;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Prepared before fork, because the child must neither allocate nor lock before exec.
struct Prepared {
  const char* folder;
  const char* program;
  char* const* argv;
  char* const* environment;
  int out, err, failure;
  pid_t parent;
  bool inherits, subreaper;
};

enum class Failed : int { folder = 1, set_up, exec };
struct Failure {
  Failed where;
  int code;
};

[[noreturn]] void fail(const Prepared& child, Failed where) {
  const Failure failure{where, errno};
  [[maybe_unused]] const auto written = ::write(child.failure, &failure, sizeof failure);
  ::_exit(127);
}

[[noreturn]] void run_child(const Prepared& child) {
  child.inherits ? ::setpgid(0, 0) : ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (child.subreaper) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (::getppid() != child.parent) ::_exit(127);  // it died before prctl took effect
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (!child.inherits) {
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || ::dup2(null, 0) < 0 || ::dup2(child.out, 1) < 0 || ::dup2(child.err, 2) < 0) fail(child, Failed::set_up);
  }
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);  // what we have inherited ourselves; kernels before 5.11 leave it open
  if (::chdir(child.folder) != 0) fail(child, Failed::folder);
  ::execve(child.program, child.argv, child.environment);
  fail(child, Failed::exec);
}

Error spawn_error(const Command& command, const Failure& failure) {
  const auto& program = command.argv.front();
  if (failure.where == Failed::folder)
    return input_error(fmt::format("cannot run {} in {}: {}", program, command.folder, std::strerror(failure.code)));
  if (failure.where == Failed::set_up)
    return internal_error(fmt::format("cannot set up the process of {}: {}", program, std::strerror(failure.code)));
  switch (failure.code) {
    case ENOENT:
      return input_error(fmt::format("cannot run {}: it, or the interpreter named in its first line, does not exist on this machine", program));
    case EACCES:
      return input_error(fmt::format("cannot run {}: not executable (chmod +x), or on a volume mounted noexec", program));
    case ENOEXEC:
      return input_error(fmt::format("cannot run {}: not a program for this machine; a script requires a first line such as #!/bin/sh", program));
    case E2BIG:
      return input_error(
          fmt::format("cannot run {}: its arguments are too long (the Linux limit is 128 KiB for one of them); pass a file instead", program));
    default:
      return internal_error(fmt::format("cannot run {}: {}", program, std::strerror(failure.code)));
  }
}

}  // namespace

Result<Child> spawn(const Command& command) {
  const auto program = find_program(command);
  if (!program) return spawn_error(command, {Failed::exec, ENOENT});
  ASSIGN(auto out, make_output_pipe());
  ASSIGN(auto err, make_output_pipe());
  ASSIGN(auto failure, make_pipe());
  auto arguments = command.argv;
  auto environment = environment_block(command.environment);
  const auto argv = pointers(arguments);
  const auto envp = pointers(environment);
  const Prepared child{command.folder.c_str(), program->c_str(),    argv.data(), envp.data(),      out.write.get(),
                       err.write.get(),        failure.write.get(), ::getpid(),  command.inherits, command.subreaper};

  const auto pid = ::fork();
  if (pid < 0) return Error{ErrorKind::unavailable, fmt::format("cannot start a process for {}: {}", command.argv.front(), std::strerror(errno))};
  if (pid == 0) run_child(child);
  failure.write.close();
  Failure failed{};
  ssize_t count = 0;
  do count = ::read(failure.read.get(), &failed, sizeof failed);
  while (count < 0 && errno == EINTR);
  if (count == sizeof failed) return spawn_error(command, failed);  // the reaper reaps it
  if (command.inherits) return Child{pid, {}, {}};
  return Child{pid, std::move(out.read), std::move(err.read)};
}

std::optional<std::string> find_program(const Command& command) {
  namespace fs = std::filesystem;
  if (command.argv.empty() || command.argv.front().empty()) return std::nullopt;
  const auto& name = command.argv.front();
  if (name.find('/') != std::string::npos) {
    std::error_code ignored;
    return fs::exists(fs::path(command.folder) / name, ignored) ? std::optional(name) : std::nullopt;
  }
  const auto* path = find_variable(command.environment, "PATH");
  const std::string folders = path != nullptr ? *path : "/usr/local/bin:/usr/bin:/bin";
  for (const auto folder : split(folders, ':')) {
    const auto candidate = fs::path(command.folder) / (folder.empty() ? "." : folder) / name;
    std::error_code ignored;
    if (::access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate, ignored)) return candidate.string();
  }
  return std::nullopt;
}

const std::string* find_variable(const Variables& variables, std::string_view name) {
  const auto found = std::find_if(variables.rbegin(), variables.rend(), [&](const auto& variable) { return variable.first == name; });
  return found == variables.rend() ? nullptr : &found->second;
}

void set_variable(Variables& variables, std::string_view name, std::string value) {
  const auto found = std::find_if(variables.rbegin(), variables.rend(), [&](const auto& variable) { return variable.first == name; });
  if (found != variables.rend())
    found->second = std::move(value);
  else
    variables.emplace_back(name, std::move(value));
}

Variables own_environment() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (const auto equals = text.find('='); equals != std::string_view::npos) variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace trainstep::process
