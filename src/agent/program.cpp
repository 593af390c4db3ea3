// SPDX-License-Identifier: Apache-2.0
#include "agent/program.h"

#include <sys/wait.h>

#include <csignal>
#include <filesystem>

#include "process/output.h"
#include "process/reaper.h"
#include "process/signals.h"

namespace trainstep::agent {
namespace {

constexpr int signal_base = 128;
constexpr Duration limit_of_time{60'000};  // of a command of ours

int code_of(int wait_status) { return WIFSIGNALED(wait_status) ? signal_base + WTERMSIG(wait_status) : WEXITSTATUS(wait_status); }

sigset_t forwarded_signals() {
  auto set = process::stop_signals();
  for (const int signal : {SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT}) sigaddset(&set, signal);
  return set;
}

std::string working_folder() {
  std::error_code gone;
  const auto folder = std::filesystem::current_path(gone);
  return gone ? "/" : folder.string();
}

}  // namespace

Result<ProgramEnd> run_program(PollLoop& loop, const std::vector<std::string>& argv, const process::Variables& environment) {
  process::Reaper reaper(loop);
  pid_t pid = 0;
  // Before the program is there, so that no signal falls between the two.
  const process::Signals signals(loop, forwarded_signals(), [&pid](int signal) {
    if (pid > 0) ::kill(-pid, signal);
  });
  ASSIGN(const auto child, process::spawn({argv, environment, working_folder(), true}));
  pid = child.pid;
  ProgramEnd end;
  reaper.watch(pid, [&](int wait_status) {
    pid = 0;
    end.code = code_of(wait_status);
    loop.stop();
  });
  loop.run();
  return end;
}

std::optional<std::string> output_of(PollLoop& loop, const std::vector<std::string>& argv, const process::Variables& environment, std::size_t limit) {
  process::Reaper reaper(loop);
  auto child = process::spawn({argv, environment, working_folder()});
  if (!child) return std::nullopt;
  std::string text;
  int left = 3;  // its end, and that of both its streams
  int code = 0;
  const auto one_less = [&] {
    if (--left == 0) loop.stop();
  };
  const process::OutputReader out(
      loop, std::move(child->out), [&](std::string_view lines) { text.append(lines.substr(0, limit + 1 - std::min(limit + 1, text.size()))); },
      one_less);
  const process::OutputReader err(loop, std::move(child->err), [](std::string_view) {}, one_less);
  reaper.watch(child->pid, [&](int wait_status) {
    code = code_of(wait_status);
    one_less();
  });
  const auto too_long = loop.after(limit_of_time, [&] { ::kill(-child->pid, SIGKILL); });
  loop.run();
  loop.cancel(too_long);
  if (code != 0 || text.size() > limit) return std::nullopt;
  return text;
}

}  // namespace trainstep::agent
