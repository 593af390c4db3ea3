// SPDX-License-Identifier: Apache-2.0
#include "kube/server_clock.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::kube;
using namespace std::chrono_literals;

namespace {

const Time noon = *from_rfc3339("2026-11-21T12:00:00Z");

}  // namespace

TEST_CASE("a server without a Date header is unknown") { CHECK_FALSE(ServerClock().ahead(noon)); }

TEST_CASE("one of several servers with a wrong clock is ignored") {
  ServerClock clock;
  const auto wrong = GENERATE(2h, -2h);
  for (int i = 0; i < 20; ++i) clock.add_sample(noon + i * 1s + (i % 2 == 0 ? wrong : 0h), noon + i * 1s);
  CHECK(clock.ahead(noon + 20s) == 0ms);
}

TEST_CASE("after our clock was set, earlier samples are ignored") {
  ServerClock clock;
  const auto jump = GENERATE(2h, -2h);
  for (int i = 0; i < 20; ++i) clock.add_sample(noon + i * 1s, noon + i * 1s);
  clock.add_sample(noon + 20s, noon + 20s + jump);
  CHECK(clock.ahead(noon + 20s + jump) == -jump);
}

TEST_CASE("a server that has been silent for long is still known") {
  ServerClock clock;
  clock.add_sample(noon + 3h, noon);
  CHECK(clock.ahead(noon + 48h) == 3h);
}
