// The only way from one thread's loop to another's: tasks are put in from any thread and run by the loop whose mailbox it is.
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
  // `loop` must outlive it. Made and destroyed by the loop's thread, or while that does not run.
  explicit Mailbox(PollLoop& loop);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox();  // what was put and not run yet is dropped

  // From any thread. Tasks run in the order in which they were put.
  void put(std::function<void()> task);
  // By the loop's thread: whether it keeps the loop running, and is looked into. At first it is not.
  void open();
  void close();

 private:
  void run();

  PollLoop& m_loop;
  Fd m_bell;
  std::mutex m_mutex;
  std::vector<std::function<void()>> m_tasks;
};

// A thread that no signal comes to: they are the main thread's.
std::thread thread_without_signals(std::function<void()> work);

}  // namespace trainstep
