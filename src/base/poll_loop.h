// The Loop on real time: timers on the monotonic clock, file descriptors by poll(2). One thread; not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "base/running_loop.h"

namespace trainstep {

class PollLoop : public RunningLoop {
 public:
  [[nodiscard]] Time now() const override { return wall_clock(); }
  TimerId start(Duration delay, std::function<void()> done) override;
  void cancel(TimerId timer) override;
  void post(std::function<void()> task) override;

  // The requested events that occurred. End of file and errors set all requested ones.
  struct Ready {
    bool readable = false;
    bool writable = false;
  };
  // Calls `ready` whenever `fd` has one of the events in `interest`. Replaces an earlier watch of the descriptor. The caller owns the descriptor and
  // must forget() it before closing it.
  void watch(int fd, Ready interest, std::function<void(Ready)> ready);
  // watch() for reading only.
  void on_readable(int fd, std::function<void()> ready);
  void forget(int fd);

  void run() override;
  void stop() override { m_stopped = true; }

 private:
  using Monotonic = std::chrono::steady_clock::time_point;
  struct Waiting {
    Monotonic due;
    std::function<void()> done;
  };
  struct Watch {
    short events = 0;
    std::uint64_t serial = 0;  // identifies the watch: descriptor numbers are reused, serials are not
    std::function<void(Ready)> ready;
  };
  [[nodiscard]] bool has_work() const { return !(m_timers.empty() && m_posted.empty() && m_watches.empty()); }
  [[nodiscard]] int poll_timeout_ms() const;
  void run_due_timers();
  void run_posted();
  void poll_descriptors();

  std::map<TimerId, Waiting> m_timers;
  std::vector<std::function<void()>> m_posted;
  std::map<int, Watch> m_watches;
  std::uint64_t m_next_watch = 1;
  TimerId m_next_timer = 1;
  bool m_stopped = false;
};

}  // namespace trainstep
