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

TEST_CASE("times are read as RFC 3339: any zone, any number of decimals, cut below a millisecond") {
  const Time at{1795248930s};
  const std::pair<const char*, Time> cases[] = {
      {"2026-11-21T08:15:30Z", at},
      {"2026-11-21T08:15:30z", at},
      {"2026-11-21T08:15:30.5Z", at + 500ms},
      {"2026-11-21T08:15:30.123456789Z", at + 123ms},
      {"2026-11-21T08:15:30.999999999Z", at + 999ms},
      {"2026-11-21T08:15:30.0012345678901234567890Z", at + 1ms},
      {"2026-11-21T09:15:30+01:00", at},
      {"2026-11-21T02:45:30.250-05:30", at + 250ms},
      {"2026-11-20T23:59:60Z", Time{1795219200s}},  // a leap second
      {"1970-01-01T00:00:00Z", Time{}},
      {"1969-12-31T23:59:59Z", Time{-1s}},
      {"2024-02-29T00:00:00Z", Time{1709164800s}},
  };
  for (const auto& [text, time] : cases) {
    CAPTURE(text);
    CHECK(from_rfc3339(text) == time);
  }
}

TEST_CASE("what was written as RFC 3339 reads back the same") {
  for (const auto time : {Time{}, Time{1795248930s}, Time{4102444800s}}) CHECK(from_rfc3339(to_rfc3339(time)) == time);
}

TEST_CASE("invalid RFC 3339 is rejected") {
  for (const auto* text : {"",
                           "now",
                           "2026-11-21",
                           "2026-11-21T08:15:30",
                           "2026-11-21 08:15:30Z",
                           "2026-11-21T08:15Z",
                           "2026-13-21T08:15:30Z",
                           "2026-02-29T08:15:30Z",
                           "2026-00-10T08:15:30Z",
                           "2026-11-00T08:15:30Z",
                           "2026-11-21T24:15:30Z",
                           "2026-11-21T08:60:30Z",
                           "2026-11-21T08:15:61Z",
                           "2026-11-21T08:15:30Zx",
                           " 2026-11-21T08:15:30Z",
                           "2026-11-21T08:15:30+0100",
                           "2026-11-21T08:15:30+01",
                           "2026-11-21T08:15:30.Z",
                           "2026-11-21T-8:15:30Z",
                           "2026-11-21T+8:15:30Z",
                           "2026-11-21T08:15:30+25:00",
                           "2026-11-21T08:15:30+01:60",
                           "26-11-21T08:15:30Z",
                           "2026-1-21T08:15:30Z"}) {
    CAPTURE(text);
    CHECK_FALSE(from_rfc3339(text));
  }
}
