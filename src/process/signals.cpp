// SPDX-License-Identifier: Apache-2.0
#include "process/signals.h"

#include <sys/signalfd.h>

#include <utility>

namespace trainstep::process {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction current{};
    ::sigaction(signal, nullptr, &current);
    if (current.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

Signals::Signals(PollLoop& loop, const sigset_t& which, std::function<void(int signal)> received) : m_loop(loop), m_which(which) {
  ::sigprocmask(SIG_BLOCK, &m_which, nullptr);
  m_signals = Fd(::signalfd(-1, &m_which, SFD_NONBLOCK | SFD_CLOEXEC));
  m_loop.on_readable(m_signals.get(), [fd = m_signals.get(), received = std::move(received)] {
    signalfd_siginfo info{};
    while (::read(fd, &info, sizeof info) == sizeof info) received(static_cast<int>(info.ssi_signo));
  });
}

Signals::~Signals() {
  m_loop.forget(m_signals.get());
  ::sigprocmask(SIG_UNBLOCK, &m_which, nullptr);
}

}  // namespace trainstep::process
