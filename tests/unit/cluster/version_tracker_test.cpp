// SPDX-License-Identifier: Apache-2.0
#include "cluster/version_tracker.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace std::chrono_literals;

namespace {

const Time noon = *from_rfc3339("2026-11-21T12:00:00Z");

Json state(int version) { return {{"metadata", {{"uid", "u"}, {"resourceVersion", std::to_string(version)}}}}; }

}  // namespace

TEST_CASE("a state older than a known one is ignored, however late it arrives") {
  VersionTracker known;
  CHECK(known.take(state(100), noon));
  CHECK_FALSE(known.take(state(99), noon));
  CHECK_FALSE(known.take(state(99), noon + 1h));
  CHECK(known.take(state(100), noon + 1h));
}

TEST_CASE("older states are accepted after minutes without newer ones, or many in a row") {
  VersionTracker known;
  CHECK(known.take(state(50'000), noon));
  SECTION("for minutes") {
    CHECK_FALSE(known.take(state(20'001), noon));
    CHECK_FALSE(known.take(state(20'002), noon + 1min));
    CHECK(known.take(state(20'003), noon + 3min));
    CHECK(known.take(state(20'004), noon + 3min));
  }
  SECTION("many") {
    for (int i = 1; i <= 20; ++i) CHECK_FALSE(known.take(state(20'000 + i), noon));
    CHECK(known.take(state(20'021), noon));
  }
  SECTION("not where a newer one comes between them") {
    for (int i = 1; i <= 10; ++i) {
      CHECK_FALSE(known.take(state(20'000 + i), noon + i * 1min));
      CHECK(known.take(state(50'000 + i), noon + i * 1min));
    }
  }
}
