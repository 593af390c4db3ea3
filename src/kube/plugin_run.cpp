// SPDX-License-Identifier: Apache-2.0
#include "kube/plugin_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"

namespace trainstep::kube {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t output_limit = std::size_t{1} << 20U;

std::vector<std::string> environment_of(const ExecPlugin& plugin) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = std::min(text.find('='), text.size());
    variables.emplace(text.substr(0, equals), text.substr(std::min(equals + 1, text.size())));
  }
  for (const auto& [name, value] : plugin.environment) variables[name] = value;
  variables["KUBERNETES_EXEC_INFO"] = plugin.info;
  std::vector<std::string> block;
  block.reserve(variables.size());
  for (const auto& [name, value] : variables) block.push_back(name + '=' + value);
  return block;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// The file to run; "" if not found.
std::string program_of(const ExecPlugin& plugin) {
  if (plugin.command.find('/') != std::string::npos) return ::access(plugin.command.c_str(), F_OK) == 0 ? plugin.command : "";
  const char* path = std::getenv("PATH");
  for (const auto folder : split(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path, ':')) {
    if (folder.empty()) continue;  // means the working directory, which is never intended
    auto file = std::string(folder) + '/' + plugin.command;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

// Prepared before fork, because the child must neither allocate nor lock before exec.
struct Prepared {
  const char* program;
  char* const* argv;
  char* const* environment;
  int out, failure;
  pid_t parent;
};

// Runs in its own process group, with default signal handlers and no inherited descriptors except stderr. Killed when we end, however that happens.
[[noreturn]] void run_child(const Prepared& child) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != child.parent) ::_exit(127);  // it died before prctl took effect
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0 && ::dup2(null, STDIN_FILENO) >= 0 && ::dup2(child.out, STDOUT_FILENO) >= 0) {
    ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    ::execve(child.program, child.argv, child.environment);
  }
  const int code = errno;
  [[maybe_unused]] const auto written = ::write(child.failure, &code, sizeof code);
  ::_exit(127);
}

// Processes started by the plug-in are not killed with it: if we are killed by SIGKILL, this process kills their group. It executes no other program.
[[noreturn]] void keep_watch(pid_t group, pid_t parent) {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::close_range(0, ~0U, 0);
  int signal = 0;
  while (::getppid() == parent) ::sigwait(&all, &signal);
  ::kill(-group, SIGKILL);
  ::_exit(0);
}

// Returns an errno, or 0.
int spawn(const ExecPlugin& plugin, int out, pid_t& pid, pid_t& watcher) {
  const auto program = program_of(plugin);
  if (program.empty()) return ENOENT;
  std::vector<std::string> arguments{plugin.command};
  arguments.insert(arguments.end(), plugin.arguments.begin(), plugin.arguments.end());
  auto environment = environment_of(plugin);
  const auto argv = pointers(arguments);
  const auto envp = pointers(environment);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
  const Fd failure(ends[0]);
  Fd tell(ends[1]);
  const Prepared child{program.c_str(), argv.data(), envp.data(), out, tell.get(), ::getpid()};
  pid = ::fork();
  if (pid < 0) return errno;
  if (pid == 0) run_child(child);
  watcher = ::fork();  // failure is tolerated: the plug-in then runs unwatched
  if (watcher == 0) keep_watch(pid, child.parent);
  tell.close();
  int code = 0;
  ssize_t count = 0;
  do count = ::read(failure.get(), &code, sizeof code);
  while (count < 0 && errno == EINTR);
  return count == sizeof code ? code : 0;
}

void reap(pid_t& pid) {
  pid_t waited = 0;
  do waited = ::waitpid(pid, nullptr, 0);
  while (waited < 0 && errno == EINTR);
  pid = 0;
}

}  // namespace

PluginRun::PluginRun(const ExecPlugin& plugin, Duration limit) : m_plugin(plugin), m_limit(limit), m_deadline(Clock::now() + limit) { start(); }

PluginRun::~PluginRun() { kill_and_reap(); }

void PluginRun::start() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    m_problem = internal_error(fmt::format("cannot create a pipe: {}", std::strerror(errno)));
    return;
  }
  m_out = Fd(ends[0]);
  const Fd in(ends[1]);
  ::fcntl(m_out.get(), F_SETFL, O_NONBLOCK);
  const int problem = spawn(m_plugin, in.get(), m_pid, m_watcher);
  if (problem == 0) return;
  m_pid = std::max(m_pid, pid_t{0});
  m_problem =
      input_error(fmt::format("the exec plug-in '{}' of the kubeconfig cannot be run: {}{}", m_plugin.command, std::strerror(problem), hint()));
}

std::optional<Result<std::string>> PluginRun::look() {
  if (m_problem) return *m_problem;
  int status = 0;
  const auto waited = ::waitpid(m_pid, &status, WNOHANG);
  const bool ended = waited == m_pid || (waited < 0 && errno == ECHILD);  // ECHILD: something else has reaped it; its output decides
  read();
  if (ended) {
    m_pid = 0;
    end_watcher();
    return verdict(waited < 0 ? 0 : status);
  }
  if (m_printed.size() > output_limit)
    m_problem = input_error(fmt::format("the exec plug-in '{}' of the kubeconfig prints too much output", m_plugin.command));
  else if (Clock::now() >= m_deadline)
    m_problem = Error{ErrorKind::denied, fmt::format("the exec plug-in '{}' of the kubeconfig did not exit within {} and was killed",
                                                     m_plugin.command, describe(m_limit))};
  if (!m_problem) return std::nullopt;
  kill_and_reap();
  return *m_problem;
}

Result<std::string> PluginRun::wait() {
  constexpr int look_ms = 5;  // polls, because other processes may keep its pipe open after its exit
  while (true) {
    if (auto ended = look()) return std::move(*ended);
    pollfd out{m_out.get(), POLLIN, 0};
    ::poll(&out, 1, look_ms);
  }
}

void PluginRun::read() {
  std::array<char, 16'384> buffer{};
  while (m_out && m_printed.size() <= output_limit) {
    const auto count = ::read(m_out.get(), buffer.data(), buffer.size());
    if (count > 0) m_printed.append(buffer.data(), static_cast<std::size_t>(count));
    if (count == 0) m_out.close();
    if (count <= 0) return;
  }
}

void PluginRun::kill_and_reap() {
  if (m_pid > 0) {
    ::kill(-m_pid, SIGKILL);
    reap(m_pid);
  }
  end_watcher();
}

void PluginRun::end_watcher() {
  if (m_watcher <= 0) return;
  ::kill(m_watcher, SIGKILL);
  reap(m_watcher);
}

Result<std::string> PluginRun::verdict(int status) const {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return m_printed;
  const auto how = WIFEXITED(status) ? fmt::format("with exit code {}", WEXITSTATUS(status)) : fmt::format("by signal {}", WTERMSIG(status));
  return Error{ErrorKind::denied,
               fmt::format("the exec plug-in '{}' of the kubeconfig ended {}; see its output above{}", m_plugin.command, how, hint())};
}

std::string PluginRun::hint() const { return m_plugin.install_hint.empty() ? "" : ". " + m_plugin.install_hint; }

}  // namespace trainstep::kube
