// SPDX-License-Identifier: Apache-2.0
#include "cluster/agreed_clock.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace std::chrono_literals;

namespace {

const Time noon = *from_rfc3339("2026-11-21T12:00:00Z");

}  // namespace

TEST_CASE("of two clocks that differ, the earlier one consistent with the cluster's timestamps is used") {
  struct Case {
    const char* what;
    std::optional<Duration> told;
    std::optional<Time> written;
    std::optional<Duration> agreed;
  };
  const Case cases[] = {
      {"they agree", -300ms, noon - 5min, -300ms},
      {"they agree, and what was written is ahead", 20s, noon + 2h, 0s},
      {"ours is ahead, and what was written by some seconds", -2h, noon - 2h + 30s, -2h},
      {"the answers come by a clock that is ahead", 2h, noon - 5min, 0h},
      {"… behind", -2h, noon - 5min, 0h},
      {"ours is ahead", -2h, noon - 2h - 5min, -2h},
      {"ours is behind", 2h, noon + 2h - 5min, 2h},
      {"both are behind", 1h, noon + 2h, 2h},
      {"nothing was written", 2h, std::nullopt, 0h},
      {"nothing was written, and ours is ahead", -2h, std::nullopt, -2h},
      {"nothing is told", std::nullopt, noon - 5min, std::nullopt},
      {"nothing is told, and ours is behind", std::nullopt, noon + 2h, 2h},
  };
  for (const auto& one : cases) {
    INFO(one.what);
    CHECK(agreed_clock(one.told, noon, one.written) == one.agreed);
  }
}
