// SPDX-License-Identifier: Apache-2.0
#include "process/guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <vector>

#include "base/fd.h"
#include "base/write.h"
#include "process/descendants.h"
#include "process/signals.h"

namespace trainstep::process {
namespace {

constexpr int killed_exit_code = 3;  // "system": result/verdict.h
constexpr Duration kill_limit{5'000};
constexpr Duration last_timeout{1'000};  // with a slow reader of stderr

// The signals that the guard receives: all that are not ignored. SIGQUIT, SIGALRM and the like end the program, after which the guard must clean up;
// they must not kill the guard itself.
sigset_t guard_signals() {
  sigset_t set;
  sigfillset(&set);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction current{};
    if (::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN) sigdelset(&set, signal);
  }
  return set;
}

// Pauses both until the shell continues us. Where nothing could (no job control, as under ssh -t), the signal has no effect.
void pause_with(pid_t program) {
  ::kill(program, SIGSTOP);
  sigset_t pause;
  sigemptyset(&pause);
  sigaddset(&pause, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &pause, nullptr);  // the signal takes effect here
  ::sigprocmask(SIG_BLOCK, &pause, nullptr);
  ::kill(program, SIGCONT);
}

// Waits until the program has ended and returns its wait status. A program stopped by anyone else, even by its own gang, is continued, because
// nothing else would end the gang.
int watch(pid_t program, const sigset_t& signals) {
  while (true) {
    int wait_status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &wait_status, WNOHANG | WUNTRACED)) > 0;) {
      if (pid != program) continue;
      if (!WIFSTOPPED(wait_status)) return wait_status;
      ::kill(program, SIGCONT);
    }
    const int signal = ::sigwaitinfo(&signals, nullptr);
    if (signal == SIGTSTP)
      pause_with(program);
    else if (signal > 0 && signal != SIGCHLD)
      ::kill(program, signal);
  }
}

// In the child. A kill of the original group (by timeout, a shell's job control, orted) ends only the guard; SIGCONT wakes the program, which may be
// paused. For a terminal it is in the background, where processes may be stopped when they write (stty tostop).
void stand_apart() {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);
  ::signal(SIGTTOU, SIG_IGN);
}

void complain(const std::string& sentence) {
  ::signal(SIGPIPE, SIG_IGN);
  write_within(STDERR_FILENO, sentence + "\n", last_timeout);
}

int guard(pid_t program, const sigset_t& signals, const std::vector<pid_t>& strangers, const std::function<void()>& tidy_up) {
  const int wait_status = watch(program, signals);
  const bool all_ended = end_descendants(kill_limit, strangers);
  if (!all_ended) complain(fmt::format("trainstep could not stop its processes: {}", describe(alive_descendants(strangers))));
  if (WIFEXITED(wait_status)) {
    const auto code = WEXITSTATUS(wait_status);
    return code == 0 && !all_ended ? killed_exit_code : code;
  }
  if (tidy_up) tidy_up();
  const auto signal = WTERMSIG(wait_status);
  complain(fmt::format("trainstep was killed by signal {} ({}); {}", signal, ::strsignal(signal),
                       all_ended ? "its processes have been stopped" : "not all of its processes have been stopped"));
  return killed_exit_code;
}

}  // namespace

int run_guarded(const std::function<int(int guard_fd)>& program, const std::function<void()>& tidy_up) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return program(-1);
  Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  // A shell that has replaced itself by us with exec may have left children; they are not ours.
  std::vector<pid_t> strangers;
  for (const auto& process : descendants(::getpid())) strangers.push_back(process.pid);
  become_subreaper();

  const auto signals = guard_signals();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  const auto child = ::fork();
  if (child > 0) {
    ::setpgid(child, child);  // in both processes, whichever is first
    read_end.close();
    return guard(child, signals, strangers, tidy_up);
  }
  const auto stops = stop_signals();
  ::sigorset(&before, &before, &stops);  // a stop signal, which the guard may already have forwarded, must always be a cancel
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return program(-1);
  stand_apart();
  become_subreaper();
  write_end.close();
  return program(read_end.get());
}

}  // namespace trainstep::process
