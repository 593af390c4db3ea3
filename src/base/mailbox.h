// The only channel between the loops of two threads: any thread can put tasks, and the loop that owns the mailbox runs them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/poll_loop.h"

namespace trainstep {

class Mailbox {
 public:
  // `loop` must outlive this object. Create and destroy it on the loop's thread, or while the loop is not running.
  explicit Mailbox(PollLoop& loop);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox();  // tasks that have not run yet are dropped

  // Callable from any thread. Tasks run in the order in which they were put.
  void put(std::function<void()> task);
  // Called on the loop's thread. While open, the mailbox is polled and keeps the loop running. Initially closed.
  void open();
  void close();

 private:
  void run();

  PollLoop& m_loop;
  Fd m_eventfd;
  std::mutex m_mutex;
  std::vector<std::function<void()>> m_tasks;
};

// Starts a thread with all signals blocked: the main thread handles them.
std::thread thread_without_signals(std::function<void()> work);

}  // namespace trainstep
