// SIGTERM, SIGINT and SIGHUP as events of the loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <functional>
#include <utility>

#include "base/fd.h"
#include "base/poll_loop.h"

namespace trainstep::process {

// To be called first of all. What whoever started us has blocked would never be heard, and where SIGCHLD is ignored the kernel buries our children:
// nobody learns of their end. SIGTERM is heard in any case, as it is how a step is cancelled; SIGINT and SIGHUP that are ignored stay so: that is the
// wish of nohup, and of a shell for what runs in its background.
void begin_with_usual_signals();

// Those of SIGTERM, SIGINT and SIGHUP that count: one that was ignored when this process began (nohup, a shell's background job) stays ignored.
sigset_t stop_signals();

// For who has no guard (guard.h) and must not end with a word unsaid: stop_signals(), and whatever else would end this process from outside and can
// be heard – SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGABRT, SIGPWR, SIGSTKFLT, those of real time. Not what tells a fault of its own (SIGSEGV,
// …), nor SIGKILL.
sigset_t ending_signals();

// For the last moments of a process whose verdict stands: none of these changes anything any more.
void ignore_signals(const sigset_t& which);

// Blocks the stop signals while it lives and reports each by number. What was blocked before stays so. Several of one number that come together are
// one. To be made before any thread.
class Signals {
 public:
  Signals(PollLoop& loop, std::function<void(int signal)> received) : Signals(loop, stop_signals(), std::move(received)) {}
  // The same with other signals.
  Signals(PollLoop& loop, const sigset_t& which, std::function<void(int signal)> received);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  PollLoop& m_loop;
  sigset_t m_blocked{};  // by this
  Fd m_signals;
};

}  // namespace trainstep::process
