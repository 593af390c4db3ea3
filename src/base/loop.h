// The seam between what waits and what happens: one thread, one loop, no call that blocks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "base/time.h"

namespace trainstep {

// Implementations: PollLoop (poll_loop.h) on real time; the tests' VirtualLoop, which jumps from timer to timer.
class Loop {
 public:
  using TimerId = std::uint64_t;
  virtual ~Loop() = default;
  [[nodiscard]] virtual Time now() const = 0;
  // Calls `done` once, from run(), not before `delay` has passed. Timers that are due at the same time run in the order they were made.
  virtual TimerId after(Duration delay, std::function<void()> done) = 0;
  // A timer that has run or was cancelled is ignored.
  virtual void cancel(TimerId timer) = 0;
  // Calls `task` soon, from run(), after everything posted before it.
  virtual void post(std::function<void()> task) = 0;
};

}  // namespace trainstep
