// The Loop of real life: timers on the monotonic clock, file descriptors by poll(2). One thread; not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "base/loop.h"

namespace trainstep {

class PollLoop : public Loop {
 public:
  [[nodiscard]] Time now() const override { return wall_clock(); }
  TimerId after(Duration delay, std::function<void()> done) override;
  void cancel(TimerId timer) override;
  void post(std::function<void()> task) override;

  // Calls `ready` whenever `fd` is readable or at its end. The caller keeps the descriptor and must forget() it before closing it.
  void on_readable(int fd, std::function<void()> ready);
  void forget(int fd);

  // Runs until stop() is called or nothing is left to wait for.
  void run();
  void stop() { m_stopped = true; }

 private:
  using Monotonic = std::chrono::steady_clock::time_point;
  struct Timer {
    Monotonic due;
    std::function<void()> done;
  };
  [[nodiscard]] bool has_work() const { return !(m_timers.empty() && m_posted.empty() && m_readers.empty()); }
  [[nodiscard]] int poll_timeout_ms() const;
  void run_due_timers();
  void run_posted();
  void poll_descriptors();

  std::map<TimerId, Timer> m_timers;
  std::vector<std::function<void()>> m_posted;
  std::map<int, std::function<void()>> m_readers;
  TimerId m_next_timer = 1;
  bool m_stopped = false;
};

}  // namespace trainstep
