// SPDX-License-Identifier: Apache-2.0
#include "base/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <utility>

#include "base/checked_fd.h"

namespace trainstep {

Mailbox::Mailbox(PollLoop& loop) : m_loop(loop), m_eventfd(checked_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {}

Mailbox::~Mailbox() { close(); }

void Mailbox::put(std::function<void()> task) {
  const std::lock_guard lock(m_mutex);
  m_tasks.push_back(std::move(task));
  const std::uint64_t one = 1;
  (void)!::write(m_eventfd.get(), &one, sizeof one);
}

void Mailbox::open() {
  m_loop.on_readable(m_eventfd.get(), [this] { run(); });
}

void Mailbox::close() { m_loop.forget(m_eventfd.get()); }

// Tasks run from the loop because a task may destroy this object.
void Mailbox::run() {
  std::uint64_t rung = 0;
  (void)!::read(m_eventfd.get(), &rung, sizeof rung);
  const std::lock_guard lock(m_mutex);
  for (auto& task : std::exchange(m_tasks, {})) m_loop.post(std::move(task));
}

std::thread thread_without_signals(std::function<void()> work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread started(std::move(work));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace trainstep
