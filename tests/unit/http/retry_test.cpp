// SPDX-License-Identifier: Apache-2.0
#include "http/retry.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::http;
using namespace std::chrono_literals;

TEST_CASE("Retry-After in its forms") {
  const Time now = std::chrono::sys_days(std::chrono::year(1994) / 11 / 6) + 8h + 49min + 30s;
  const auto date = "Sun, 06 Nov 1994 08:49:37 GMT";
  struct Case {
    std::string value;
    std::string sent;
    std::optional<Duration> expected;
  };
  const Case cases[] = {{"5", "", 5s},
                        {" 0 ", "", 0s},
                        {date, "", 7s},
                        {date, date, 0s},
                        {date, "x", 7s},
                        {"Sun, 06 Nov 1994 08:00:00 GMT", "", 0s},
                        {"999999999", "", 30s},
                        {"31", "", 30s},
                        {"-1", "", {}},
                        {"soon", "", {}},
                        {"99999999999", "", {}},
                        {"Sun, 31 Feb 1994 08:49:37 GMT", "", {}},
                        {"Sunday, 06-Nov-94 08:49:37 GMT", "", {}}};
  for (const auto& row : cases) {
    INFO(row.value);
    Response response{429, {{"Retry-After", row.value}}, ""};
    if (!row.sent.empty()) response.headers.push_back({"Date", row.sent});
    CHECK(retry_after(response, now) == row.expected);
  }
  CHECK_FALSE(retry_after({429, {}, ""}, now));
}

TEST_CASE("pauses double to half a minute, spread, and never undercut the floor") {
  std::mt19937_64 random(3);
  const std::pair<int, Duration> wholes[] = {{1, 250ms}, {2, 500ms}, {3, 1s}, {7, 16s}, {8, 30s}, {9, 30s}, {1'000'000, 30s}};
  for (const auto& [tries, whole] : wholes) {
    for (int i = 0; i < 100; ++i) {
      const auto pause = retry_pause(tries, {}, random);
      CHECK((pause >= whole / 2 && pause <= whole));
      const auto floored = retry_pause(tries, Duration(10s), random);
      CHECK((floored >= 10s && floored <= 30s));
    }
  }
}
