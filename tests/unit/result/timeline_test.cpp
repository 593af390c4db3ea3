// SPDX-License-Identifier: Apache-2.0
#include "result/timeline.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::result;

namespace {
Time at(int seconds) { return Time{std::chrono::seconds(seconds)}; }
}  // namespace

TEST_CASE("phases last until the next one, the last one until the end") {
  Timeline timeline;
  CHECK_FALSE(timeline.current());
  CHECK(timeline.total(at(5)) == Duration{0});
  timeline.enter(Phase::queued, at(10));
  timeline.enter(Phase::queued, at(12));
  timeline.enter(Phase::running, at(15));
  timeline.enter(Phase::starting, at(20));
  timeline.enter(Phase::running, at(21));
  CHECK(timeline.entries.size() == 4);
  CHECK(timeline.current() == Phase::running);
  CHECK(timeline.spent_in(Phase::queued, at(30)) == std::chrono::seconds(5));
  CHECK(timeline.spent_in(Phase::running, at(30)) == std::chrono::seconds(14));
  CHECK(timeline.in_current(at(30)) == std::chrono::seconds(9));
  timeline.finish(at(25));
  CHECK_FALSE(timeline.current());
  CHECK(timeline.in_current(at(30)) == Duration{0});
  CHECK(timeline.spent_in(Phase::running, at(30)) == std::chrono::seconds(9));
  CHECK(timeline.spent_in(Phase::finishing, at(30)) == Duration{0});
  CHECK(timeline.total(at(99)) == std::chrono::seconds(15));
}

TEST_CASE("a clock that is set back does not cause negative durations") {
  Timeline timeline;
  timeline.enter(Phase::queued, at(10));
  timeline.enter(Phase::running, at(5));
  CHECK(timeline.in_current(at(1)) == Duration{0});
  timeline.finish(at(2));
  CHECK(timeline.total(at(2)) == Duration{0});
  CHECK(timeline.spent_in(Phase::queued, at(2)) == Duration{0});
}

TEST_CASE("phases have names") { CHECK(name(Phase::finishing) == "finishing"); }
