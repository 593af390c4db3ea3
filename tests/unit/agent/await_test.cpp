// Linear code over a loop: what waits gets its own answer, or none.
// SPDX-License-Identifier: Apache-2.0
#include "agent/await.h"

#include <unistd.h>

#include <chrono>

#include "base/fd.h"
#include "base/poll_loop.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::agent;
using namespace std::chrono_literals;

TEST_CASE("an answer ends the waiting, now or later") {
  PollLoop loop;
  CHECK(await<int>(loop, [](const auto& done) { done(1); }).value() == 1);
  CHECK(await<int>(loop, [&](const auto& done) { loop.after(1ms, [done] { done(2); }); }).value() == 2);
}

TEST_CASE("a result that arrives after the wait was stopped is discarded") {
  PollLoop loop;
  std::function<void(Result<int>)> late;
  loop.post([&] { loop.stop(); });
  const auto stopped = await<int>(loop, [&](const auto& done) { late = done; });
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().kind == ErrorKind::cancelled);
  bool went_on = false;
  loop.post([&] { late(1); });
  loop.after(1ms, [&] {
    went_on = true;
    loop.stop();
  });
  loop.run();
  CHECK(went_on);
}

TEST_CASE("hear() processes pending descriptors and timers without waiting") {
  PollLoop loop;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const Fd reader(ends[0]), writer(ends[1]);
  int heard = 0;
  loop.on_readable(reader.get(), [&] { ++heard; });
  loop.after(1h, [&] { heard += 100; });
  process_pending(loop);
  CHECK(heard == 0);
  REQUIRE(::write(writer.get(), "x", 1) == 1);
  process_pending(loop);
  CHECK(heard == 1);
}
