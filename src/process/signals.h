// SIGTERM, SIGINT and SIGHUP as events of the loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <functional>
#include <utility>

#include "base/fd.h"
#include "base/poll_loop.h"

namespace trainstep::process {

// Call it first of all. Unblocks signals that the parent process has blocked, and resets SIGCHLD: if that is ignored, the kernel reaps our children
// and we do not learn of their end. Also resets SIGTERM, by which a step is cancelled; SIGINT and SIGHUP stay ignored if they were, as nohup and
// shells with background jobs intend.
void begin_with_usual_signals();

// SIGTERM, SIGINT and SIGHUP, without those that are ignored since this process started (nohup, a shell's background job).
sigset_t stop_signals();

// For a process without a guard (guard.h) that must print a message before it ends: stop_signals(), and all others by which something else can end
// this process and that can be caught: SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGABRT, SIGPWR, SIGSTKFLT and the real-time signals. Not those
// that report a fault of its own (SIGSEGV, …), nor SIGKILL.
sigset_t ending_signals();

// Ignores these signals from now on: for the end of a process whose verdict is final.
void ignore_signals(const sigset_t& which);

// Blocks the stop signals while it exists and reports each by number. Signals that were blocked before stay blocked. Pending signals of one number
// are merged. Create it before any thread.
class Signals {
 public:
  Signals(PollLoop& loop, std::function<void(int signal)> received) : Signals(loop, stop_signals(), std::move(received)) {}
  // The same for other signals.
  Signals(PollLoop& loop, const sigset_t& which, std::function<void(int signal)> received);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  PollLoop& m_loop;
  sigset_t m_blocked{};  // by this object
  Fd m_signals;
};

}  // namespace trainstep::process
