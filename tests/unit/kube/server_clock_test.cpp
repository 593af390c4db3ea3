// SPDX-License-Identifier: Apache-2.0
#include "kube/server_clock.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::kube;
using namespace std::chrono_literals;

namespace {

const Time noon = *from_rfc3339("2026-11-21T12:00:00Z");

}  // namespace

TEST_CASE("a server that tells no time is not known") { CHECK_FALSE(ServerClock().ahead(noon)); }

TEST_CASE("one of several servers whose clock is wrong does not count") {
  ServerClock clock;
  const auto wrong = GENERATE(2h, -2h);
  for (int i = 0; i < 20; ++i) clock.told(noon + i * 1s + (i % 2 == 0 ? wrong : 0h), noon + i * 1s);
  CHECK(clock.ahead(noon + 20s) == 0ms);
}

TEST_CASE("when our clock was set, what was told before does not count any more") {
  ServerClock clock;
  const auto jump = GENERATE(2h, -2h);
  for (int i = 0; i < 20; ++i) clock.told(noon + i * 1s, noon + i * 1s);
  clock.told(noon + 20s, noon + 20s + jump);
  CHECK(clock.ahead(noon + 20s + jump) == -jump);
}

TEST_CASE("a server that has been silent for long is still known") {
  ServerClock clock;
  clock.told(noon + 3h, noon);
  CHECK(clock.ahead(noon + 48h) == 3h);
}
