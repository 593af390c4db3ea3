// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include "support/catch.h"

using namespace trainstep;
using namespace std::chrono_literals;

TEST_CASE("times are written as RFC 3339 in UTC") {
  CHECK(to_rfc3339(Time{}) == "1970-01-01T00:00:00Z");
  CHECK(to_rfc3339(Time{1795248930s}) == "2026-11-21T08:15:30Z");
}

TEST_CASE("durations are written for people") {
  const std::pair<Duration, const char*> cases[] = {{0ms, "0.0 s"},
                                                    {-5s, "0.0 s"},
                                                    {420ms, "0.4 s"},
                                                    {9949ms, "9.9 s"},
                                                    {9950ms, "10 s"},
                                                    {12s, "12 s"},
                                                    {59'499ms, "59 s"},
                                                    {59'500ms, "1 min 00 s"},
                                                    {185s, "3 min 05 s"},
                                                    {3599s, "59 min 59 s"},
                                                    {3'599'600ms, "1 h 00 min"},
                                                    {2h + 7min + 59s, "2 h 07 min"},
                                                    {100h, "100 h 00 min"}};
  for (const auto& [duration, text] : cases) CHECK(describe(duration) == text);
}
