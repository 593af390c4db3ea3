// SPDX-License-Identifier: Apache-2.0
#include "agent/program.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "base/text.h"
#include "process/descendants.h"
#include "process/held_files.h"
#include "process/output.h"
#include "process/reaper.h"
#include "process/signals.h"

namespace trainstep::agent {
namespace {

constexpr int signal_base = 128;
constexpr Duration time_limit{60'000};  // for our own commands
constexpr Duration rest_limit{2'000};   // how long other processes may outlive the program
constexpr Duration rest_pause{20};
constexpr Duration kill_limit{5'000};

int code_of(int wait_status) { return WIFSIGNALED(wait_status) ? signal_base + WTERMSIG(wait_status) : WEXITSTATUS(wait_status); }

sigset_t forwarded_signals() {
  auto set = process::stop_signals();
  for (const int signal : {SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT}) sigaddset(&set, signal);
  return set;
}

// True even if it has not been reaped yet.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

std::string working_folder() {
  std::error_code gone;
  const auto folder = std::filesystem::current_path(gone);
  return gone ? "/" : folder.string();
}

// The last non-empty line.
std::optional<std::string> last_line(std::string_view lines) {
  for (auto all = split(lines, '\n'); !all.empty(); all.pop_back())
    if (const auto line = trim(all.back()); !line.empty()) return std::string(line);
  return std::nullopt;
}

// The living processes that the program has left.
std::vector<process::Process> rest(const process::Reaper& reaper) { return process::alive_descendants(reaper.claimed()); }

// Runs the loop until none is left, the time limit has passed, or the loop is stopped.
void await_rest(PollLoop& loop, const process::Reaper& reaper) {
  const auto until = loop.now() + rest_limit;
  Timer timer;
  const std::function<void()> look = [&] {
    if (rest(reaper).empty() || loop.now() >= until) return loop.stop();
    timer = loop.timer(rest_pause, look);
  };
  timer = loop.timer(Duration(0), look);
  loop.run();
}

}  // namespace

void end_with_guard(PollLoop& loop, int guard) {
  if (guard < 0) return;
  loop.on_readable(guard, [] {
    process::end_descendants(kill_limit);
    ::_exit(signal_base + SIGKILL);
  });
}

Result<ProgramEnd> run_program(PollLoop& loop, const std::vector<std::string>& argv, const process::Variables& environment,
                               const OnOutlived& outlived) {
  if (!process::sees_processes()) return internal_error(std::string(process::cannot_see));
  process::Reaper reaper(loop);
  pid_t pid = 0;
  bool ended = false;
  int stopped = 0;
  const auto stops = process::stop_signals();
  // Installed before the program starts, so that no signal is lost in between.
  const process::Signals signals(loop, forwarded_signals(), [&](int signal) {
    if (pid > 0 && stopped == 0 && sigismember(&stops, signal) == 1 && !has_ended(pid)) stopped = signal;
    if (pid > 0) ::kill(-pid, signal);
    if (ended) loop.stop();
  });
  ASSIGN(const auto child, process::spawn({argv, environment, working_folder(), true}));
  pid = child.pid;
  ProgramEnd end;
  reaper.watch(pid, [&](int wait_status) {
    pid = 0;
    end.code = code_of(wait_status);
    if (end.succeeded() && stopped != 0) end = {.code = signal_base + stopped, .left_at = stopped};
    ended = true;
    loop.stop();
  });
  loop.run();
  auto left = rest(reaper);
  if (left.empty()) return end;
  end.outlived = describe(left);
  if (end.succeeded()) {
    if (outlived) outlived();
    await_rest(loop, reaper);
    left = rest(reaper);
  }
  end.killed_any = !left.empty();
  end.held = process::files_held_for_writing(left);
  process::end_descendants(kill_limit, reaper.claimed());
  end.survivors = describe(rest(reaper));
  return end;
}

void kill_program() {
  process::kill_all(process::descendants(::getpid()), {}, [](const process::Process&) { return true; });
}

Result<std::string> output_of(PollLoop& loop, const std::vector<std::string>& argv, const process::Variables& environment, std::size_t limit) {
  process::Reaper reaper(loop);
  ASSIGN(auto child, process::spawn({argv, environment, working_folder()}));
  std::string text;
  std::string last_error;
  bool too_slow = false;
  int left = 3;  // its exit, and the end of both its streams
  int code = 0;
  const auto one_less = [&] {
    if (--left == 0) loop.stop();
  };
  const process::OutputReader out(
      loop, std::move(child.out), [&](std::string_view lines) { text.append(lines.substr(0, limit + 1 - std::min(limit + 1, text.size()))); },
      one_less);
  const process::OutputReader err(
      loop, std::move(child.err), [&](std::string_view lines) { last_error = last_line(lines).value_or(std::move(last_error)); }, one_less);
  reaper.watch(child.pid, [&](int wait_status) {
    code = code_of(wait_status);
    one_less();
  });
  Timer timer = loop.timer(time_limit, [&] {
    too_slow = true;
    ::kill(-child.pid, SIGKILL);
  });
  loop.run();
  timer.cancel();
  if (left > 0) ::kill(-child.pid, SIGKILL);  // the loop was stopped by something else
  if (left > 0) return Error{ErrorKind::cancelled, "stopped by a signal"};
  if (too_slow) return Error{ErrorKind::unavailable, fmt::format("no answer from {} within {}", argv.front(), describe(time_limit))};
  if (code != 0) return Error{ErrorKind::unavailable, last_error.empty() ? fmt::format("{} exited with code {}", argv.front(), code) : last_error};
  if (text.size() > limit) return Error{ErrorKind::unavailable, fmt::format("{} printed more than {} bytes", argv.front(), limit)};
  return text;
}

}  // namespace trainstep::agent
