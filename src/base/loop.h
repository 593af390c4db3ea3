// The interface to everything that waits: one thread, one loop, no blocking calls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/pending.h"
#include "base/time.h"

namespace trainstep {

class Loop;
using Timer = Pending<Loop>;

// Implementations: PollLoop (poll_loop.h) on real time; VirtualLoop in the tests, which jumps from timer to timer.
class Loop {
 public:
  using TimerId = std::uint64_t;
  virtual ~Loop() = default;
  [[nodiscard]] virtual Time now() const = 0;
  // Calls `done` once, from run(), after at least `delay`. Timers due at the same time run in the order of their creation.
  [[nodiscard]] Timer timer(Duration delay, std::function<void()> done) { return {*this, start(delay, std::move(done))}; }
  // The same for a timer that is never cancelled.
  void after(Duration delay, std::function<void()> done) { start(delay, std::move(done)); }
  // Calls `task` soon, from run(), after everything posted earlier.
  virtual void post(std::function<void()> task) = 0;

  // For timer() and after(), and for loops on top of other ones.
  virtual TimerId start(Duration delay, std::function<void()> done) = 0;
  // Does nothing if the timer has fired or was cancelled.
  virtual void cancel(TimerId timer) = 0;
};

}  // namespace trainstep
