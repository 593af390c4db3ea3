// Runs a loop until something has happened. The limit only matters when the test fails.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>

#include "base/poll_loop.h"
#include "support/catch.h"

namespace trainstep {

// `happened` is asked after everything that wakes the loop; whatever happens calls `loop.stop()` itself or is seen within 5 ms.
inline void run_until(PollLoop& loop, const std::function<bool()>& happened, Duration limit = Duration{20'000}) {
  bool late = false;
  const auto limit_timer = loop.timer(limit, [&] {
    late = true;
    loop.stop();
  });
  std::function<void()> look = [&] {
    if (happened())
      loop.stop();
    else
      loop.after(Duration{2}, look);
  };
  loop.post(look);
  loop.run();
  REQUIRE_FALSE(late);
}

inline bool alive(pid_t pid) { return ::kill(pid, 0) == 0; }

}  // namespace trainstep
