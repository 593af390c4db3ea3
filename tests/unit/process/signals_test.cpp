// SPDX-License-Identifier: Apache-2.0
#include "process/signals.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "run_until.h"
#include "support/catch.h"

namespace trainstep::process {
namespace {

TEST_CASE("stop signals arrive as events with their number") {
  PollLoop loop;
  std::vector<int> received;
  const Signals signals(loop, [&](int signal) { received.push_back(signal); });
  ::raise(SIGTERM);
  run_until(loop, [&] { return received.size() == 1; });
  ::raise(SIGINT);
  run_until(loop, [&] { return received.size() == 2; });
  CHECK(received == std::vector{SIGTERM, SIGINT});
}

TEST_CASE("without a guard all fatal signals are received, except ignored ones and faults") {
  const auto before = ::signal(SIGQUIT, SIG_IGN);
  const auto ignoring = ending_signals();
  ::signal(SIGQUIT, before);
  CHECK(sigismember(&ignoring, SIGQUIT) == 0);
  const auto which = ending_signals();
  PollLoop loop;
  std::vector<int> received,
      sent{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGABRT, SIGPWR, SIGSTKFLT, SIGRTMIN, SIGRTMAX};
  const Signals signals(loop, which, [&](int signal) { received.push_back(signal); });
  for (const int signal : sent) {
    CAPTURE(signal);
    REQUIRE(sigismember(&which, signal) == 1);
    ::raise(signal);
    run_until(loop, [&] { return !received.empty(); });
    CHECK(received == std::vector{signal});
    received.clear();
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGCHLD, SIGPIPE, SIGTSTP, SIGCONT}) CHECK(sigismember(&which, signal) == 0);
}

TEST_CASE("begin_with_usual_signals() restores SIGCHLD, and blocked signals are received") {
  const auto pid = ::fork();
  if (pid == 0) {
    ::signal(SIGCHLD, SIG_IGN);
    ::signal(SIGTERM, SIG_IGN);
    ::signal(SIGHUP, SIG_IGN);
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    begin_with_usual_signals();
    if (const auto child = ::fork(); child > 0) {
      int status = 0;
      ::sigprocmask(SIG_SETMASK, nullptr, &all);
      const auto heard = stop_signals();
      const bool hears = sigismember(&heard, SIGTERM) == 1 && sigismember(&heard, SIGHUP) == 0;
      ::_exit(::waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7 && sigisemptyset(&all) == 1 && hears ? 0 : 1);
    }
    ::_exit(7);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK(status == 0);
}

TEST_CASE("a signal that was ignored from the start stays ignored") {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  PollLoop loop;
  std::vector<int> received;
  {
    const Signals signals(loop, [&](int signal) { received.push_back(signal); });
    ::raise(SIGHUP);
    ::raise(SIGTERM);
    run_until(loop, [&] { return !received.empty(); });
  }
  ::signal(SIGHUP, before);
  CHECK(received == std::vector{SIGTERM});
}

}  // namespace
}  // namespace trainstep::process
