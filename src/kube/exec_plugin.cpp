// SPDX-License-Identifier: Apache-2.0
#include "kube/exec_plugin.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "base/fd.h"
#include "base/text.h"

namespace trainstep::kube {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t output_limit = std::size_t{1} << 20U;
constexpr Duration early{10'000};  // before it expires

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

// The file to run; "" if there is none. Looked up here, because not every kernel (qemu's is none) tells a failed exec to who has asked for it.
std::string program_of(const ExecPlugin& plugin) {
  if (plugin.command.find('/') != std::string::npos) return ::access(plugin.command.c_str(), F_OK) == 0 ? plugin.command : "";
  const char* path = std::getenv("PATH");
  for (const auto folder : split(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path, ':')) {
    if (folder.empty()) continue;  // the working directory: nobody means it
    auto file = std::string(folder) + '/' + plugin.command;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

// In a process group of its own, with default signals and no descriptor of ours but stderr. The error number, or 0.
int spawn(const ExecPlugin& plugin, int out, pid_t& pid) {
  const auto program = program_of(plugin);
  if (program.empty()) return ENOENT;
  std::vector<std::string> arguments{plugin.command};
  arguments.insert(arguments.end(), plugin.arguments.begin(), plugin.arguments.end());
  auto environment = environment_of(plugin);
  const auto argv = pointers(arguments);
  const auto envp = pointers(environment);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  sigset_t signals;
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  const int problem = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return problem;
}

// Reads until the program ends (a daemon that it leaves may hold the pipe open), or its output does where the kernel has no pidfd. False: too late.
bool read_to_the_end(int out, pid_t pid, Clock::time_point deadline, std::string& printed) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  std::array<char, 16'384> buffer{};
  bool open = true;
  while (true) {
    const auto left = std::chrono::ceil<Duration>(deadline - Clock::now()).count();
    if (left <= 0 || printed.size() > output_limit) return false;
    std::array<pollfd, 2> waits{pollfd{open ? out : -1, POLLIN, 0}, pollfd{process.get(), POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), static_cast<int>(left)) <= 0) continue;  // EINTR, or the time is over
    bool more = waits[0].revents != 0;
    while (more && printed.size() <= output_limit) {
      const auto count = ::read(out, buffer.data(), buffer.size());
      if (count > 0) printed.append(buffer.data(), static_cast<std::size_t>(count));
      if (count == 0) open = false;
      more = count > 0;
    }
    if (waits[1].revents != 0 || (!open && !process)) return true;
  }
}

std::string hint(const ExecPlugin& plugin) { return plugin.install_hint.empty() ? "" : ". " + plugin.install_hint; }

Result<std::string> verdict(const ExecPlugin& plugin, int status, std::string printed) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return printed;
  const auto how = WIFEXITED(status) ? fmt::format("with exit code {}", WEXITSTATUS(status)) : fmt::format("by signal {}", WTERMSIG(status));
  return Error{ErrorKind::denied,
               fmt::format("the exec plug-in '{}' of the kubeconfig ended {}; what it says stands above{}", plugin.command, how, hint(plugin))};
}

class ExecToken : public TokenSource {
 public:
  ExecToken(ExecPlugin plugin, std::shared_ptr<const http::Endpoint> endpoint, Duration limit)
      : m_plugin(std::move(plugin)), m_base(std::move(endpoint)), m_limit(limit) {}

  Result<std::string> token(Time now) override {
    if (m_credential && !m_refused && (!m_credential->expires || now + early < *m_credential->expires)) return m_credential->token;
    auto printed = run_exec_plugin(m_plugin, m_limit);
    auto credential = printed ? read_exec_credential(*printed, m_plugin) : Result<ExecCredential>(std::move(printed.error()));
    if (credential) return take(std::move(*credential));
    if (!m_credential) return std::move(credential.error());
    if (!m_refused && now < m_credential->expires.value_or(now)) return m_credential->token;
    return Error{ErrorKind::unavailable, std::move(credential.error().message)};  // it has worked before, it may again
  }
  void refused() override { m_refused = true; }
  [[nodiscard]] std::shared_ptr<const http::Endpoint> endpoint() const override { return m_endpoint; }

 private:
  std::string take(ExecCredential credential) {
    const bool renewed = !credential.certificate_pem.empty() && (!m_credential || credential.certificate_pem != m_credential->certificate_pem);
    if (renewed) {
      auto endpoint = *m_base;
      endpoint.certificate_pem = credential.certificate_pem;
      endpoint.key_pem = credential.key_pem;
      m_endpoint = std::make_shared<const http::Endpoint>(std::move(endpoint));
    }
    auto token = credential.token;
    m_credential = std::move(credential);
    m_refused = false;
    return token;
  }

  ExecPlugin m_plugin;
  std::shared_ptr<const http::Endpoint> m_base;
  std::shared_ptr<const http::Endpoint> m_endpoint;
  Duration m_limit;
  std::optional<ExecCredential> m_credential;
  bool m_refused = false;
};

}  // namespace

Result<std::string> run_exec_plugin(const ExecPlugin& plugin, Duration limit) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return internal_error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const Fd out(ends[0]);
  Fd in(ends[1]);
  ::fcntl(out.get(), F_SETFL, O_NONBLOCK);
  pid_t pid = 0;
  const int problem = spawn(plugin, in.get(), pid);
  if (problem != 0)
    return input_error(
        fmt::format("the exec plug-in '{}' of the kubeconfig cannot be run: {}{}", plugin.command, std::strerror(problem), hint(plugin)));
  in.close();
  std::string printed;
  const bool ended = read_to_the_end(out.get(), pid, Clock::now() + limit, printed);
  if (!ended) ::kill(-pid, SIGKILL);
  int status = 0;
  pid_t waited = 0;
  do waited = ::waitpid(pid, &status, 0);
  while (waited < 0 && errno == EINTR);
  if (waited < 0) status = 0;  // somebody else has reaped it: what it printed tells
  if (ended) return verdict(plugin, status, std::move(printed));
  if (printed.size() > output_limit) return input_error(fmt::format("the exec plug-in '{}' of the kubeconfig prints without end", plugin.command));
  return Error{ErrorKind::denied,
               fmt::format("the exec plug-in '{}' of the kubeconfig did not end within {} and was killed", plugin.command, describe(limit))};
}

std::unique_ptr<TokenSource> exec_token(ExecPlugin plugin, std::shared_ptr<const http::Endpoint> endpoint, Duration limit) {
  return std::make_unique<ExecToken>(std::move(plugin), std::move(endpoint), limit);
}

}  // namespace trainstep::kube
