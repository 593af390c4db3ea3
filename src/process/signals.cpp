// SPDX-License-Identifier: Apache-2.0
#include "process/signals.h"

#include <sys/signalfd.h>

#include <utility>

#include "base/checked_fd.h"

namespace trainstep::process {

void begin_with_usual_signals() {
  for (const int signal : {SIGCHLD, SIGTERM}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

namespace {

void add_heard(sigset_t& set, int signal) {
  struct sigaction current{};
  ::sigaction(signal, nullptr, &current);
  if (current.sa_handler != SIG_IGN) sigaddset(&set, signal);
}

}  // namespace

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) add_heard(set, signal);
  return set;
}

sigset_t ending_signals() {
  auto set = stop_signals();
  for (const int signal : {SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGABRT, SIGPWR, SIGSTKFLT}) add_heard(set, signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) add_heard(set, signal);
  return set;
}

void ignore_signals(const sigset_t& which) {
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&which, signal) == 1) ::signal(signal, SIG_IGN);
}

Signals::Signals(PollLoop& loop, const sigset_t& which, std::function<void(int signal)> received) : m_loop(loop) {
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &which, &before);
  sigemptyset(&m_blocked);
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&which, signal) == 1 && sigismember(&before, signal) == 0) sigaddset(&m_blocked, signal);
  m_signals = checked_fd(::signalfd(-1, &which, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd");
  m_loop.on_readable(m_signals.get(), [fd = m_signals.get(), received = std::move(received)] {
    signalfd_siginfo info{};
    while (::read(fd, &info, sizeof info) == sizeof info) received(static_cast<int>(info.ssi_signo));
  });
}

Signals::~Signals() {
  m_loop.forget(m_signals.get());
  ::sigprocmask(SIG_UNBLOCK, &m_blocked, nullptr);
}

}  // namespace trainstep::process
