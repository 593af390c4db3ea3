// SPDX-License-Identifier: Apache-2.0
#include "kube/log_cursor.h"

#include "support/catch.h"

using namespace trainstep::kube;

namespace {

constexpr Stamp second = stamps_per_second;

// "10.5:text" → its stamp and text.
std::pair<Stamp, std::string> line(const std::string& written) {
  const auto colon = written.find(':');
  return {static_cast<Stamp>(std::stod(written.substr(0, colon)) * second), written.substr(colon + 1)};
}

// One letter for each line: skip . deliver + gap ? (then accepted, and taken again) astray !
std::string steps(LogCursor& cursor, const std::vector<std::string>& served) {
  cursor.begin();
  std::string result;
  for (const auto& written : served) {
    const auto [stamp, text] = line(written);
    auto step = cursor.take(stamp, text);
    if (step == LogCursor::Step::gap) {
      result += '?';
      cursor.accept_gap();
      step = cursor.take(stamp, text);
    }
    result += step == LogCursor::Step::skip ? '.' : step == LogCursor::Step::deliver ? '+' : '!';
  }
  return result;
}

}  // namespace

TEST_CASE("a kubelet's line is a stamp and a text") {
  constexpr Stamp day = 86'400 * second;
  struct Case {
    std::string line;
    Stamp stamp;
    std::string text;
  };
  const Case cases[] = {
      {"1970-01-02T00:00:00Z hello", day, "hello"},
      {"1970-01-02T00:00:01.000000002Z  two blanks\r", day + second + 2, " two blanks\r"},
      {"1970-01-02T00:00:00.5Z ", day + second / 2, ""},
      {"1970-01-02T00:00:00.123456789123Z", day + 123'456'789, ""},
      {"1970-01-02T02:00:00+02:00 east", day, "east"},
      {"1970-01-01T21:30:00-02:30 west", day, "west"},
      {"1969-12-31T23:59:59.75Z x", -second / 4, "x"},
      {"2024-02-29T12:00:00Z 2024-02-29T12:00:00Z x", 1'709'208'000 * second, "2024-02-29T12:00:00Z x"},
  };
  for (const auto& row : cases) {
    INFO(row.line);
    const auto read = read_log_line(row.line);
    REQUIRE(read);
    CHECK(read->stamp == row.stamp);
    CHECK(read->text == row.text);
  }
  for (const auto* text :
       {"", "hello", "2024-02-29", "2024-02-29T12:00:00", "2024-02-29T12:00:00Zx", "2023-02-29T12:00:00Z x", "2024-02-29T12:00:00.Z x",
        "2024-02-29 12:00:00Z x", "2024-02-29T12:00:00+2:00 x", "9999-02-28T12:00:00Z x", "0000-00-00T00:00:00Z x"}) {
    INFO(text);
    CHECK_FALSE(read_log_line(text));
  }
}

TEST_CASE("times for people are of the day, UTC") {
  CHECK(clock_time(0) == "00:00:00");
  CHECK(clock_time((8 * 3600 + 15 * 60 + 30) * second + 5) == "08:15:30");
  CHECK(clock_time(-1) == "23:59:59");
}

TEST_CASE("what a new connection serves again is known, in whichever order it was stamped") {
  struct Case {
    std::string name;
    std::vector<std::string> before;
    std::int64_t since;
    std::vector<std::string> served;
    std::string expected;
  };
  const Case cases[] = {
      {"nothing new", {"10.1:a", "10.2:b"}, 9, {"10.1:a", "10.2:b"}, ".."},
      {"one new", {"10.1:a", "10.2:b"}, 9, {"10.1:a", "10.2:b", "10.3:c"}, "..+"},
      {"equal lines of one time", {"10:a", "10:a"}, 9, {"10:a", "10:a", "10:a", "10:a"}, "..++"},
      {"two equal lines with others between", {"10:a", "10:b", "10:a"}, 9, {"10:a", "10:b", "10:a", "10:b"}, "...+"},
      {"out of order", {"10.2:b"}, 9, {"10.2:b", "10.1:a", "10.3:c"}, ".++"},
      {"out of order over a second", {"9.5:a", "11.0:c"}, 10, {"11.0:c", "10.9:b", "11.1:d"}, ".++"},
      {"a second that is over is forgotten", {"7.5:a", "8.5:b", "12.5:c"}, 11, {"12.5:c", "12.6:d"}, ".+"},
      {"more served than asked for", {"7.5:a", "12.5:c"}, 11, {"7.5:a", "12.5:c", "12.6:d"}, "..+"},
      {"rotated, with a gap", {"10.1:a", "10.2:b"}, 9, {"10.5:d", "10.6:e"}, "?++"},
      {"rotated, without one", {"10.1:a", "10.2:b"}, 9, {"10.2:b", "10.6:e"}, ".+"},
      {"rotated, with equal lines of one time", {"10.1:a", "10.2:b", "10.2:b"}, 9, {"10.2:b", "10.2:b", "10.2:b"}, "..+"},
      {"rotated within equal times", {"10.1:a", "10.2:b", "10.2:c"}, 9, {"10.2:c", "10.2:d"}, ".+"},
  };
  for (const auto& row : cases) {
    INFO(row.name);
    LogCursor cursor;
    CHECK(steps(cursor, row.before) == std::string(row.before.size(), '+'));
    CHECK_FALSE(cursor.since());
    CHECK(steps(cursor, row.served) == row.expected);
    CHECK(cursor.since() == row.since);
    CHECK(cursor.place() == LogCursor::Place::caught);
    // And once more: all of it is known now.
    CHECK(steps(cursor, row.served) == std::string(row.served.size(), '.'));
  }
}

TEST_CASE("the position of a connection among the known lines") {
  LogCursor cursor;
  cursor.begin();
  CHECK(cursor.place() == LogCursor::Place::caught);
  CHECK_FALSE(cursor.last());
  CHECK(steps(cursor, {"10.1:a", "10.2:b"}) == "++");
  CHECK(cursor.last() == 10 * second + second / 5);
  cursor.begin();
  CHECK(cursor.place() == LogCursor::Place::lost);
  CHECK(steps(cursor, {"10.1:a"}) == ".");
  CHECK(cursor.place() == LogCursor::Place::known);
  CHECK(steps(cursor, {"10.1:a", "10.2:b"}) == "..");
  CHECK(cursor.place() == LogCursor::Place::caught);
}

TEST_CASE("a file that begins as it did but goes on otherwise is judged by stamps at the next connection") {
  LogCursor cursor;
  CHECK(steps(cursor, {"10.1:a", "10.2:b", "10.3:c"}) == "+++");
  CHECK(steps(cursor, {"10.1:a", "10.2:b", "10.4:d"}) == "..!");
  CHECK(steps(cursor, {"10.1:a", "10.2:b", "10.4:d"}) == "..?+");
  CHECK(steps(cursor, {"10.1:a", "10.2:b", "10.4:d", "10.5:e"}) == "...+");
}

TEST_CASE("after the clock was set back everything is read again, and nothing twice") {
  LogCursor cursor;
  CHECK(steps(cursor, {"100.1:a", "130.2:b", "90.1:c"}) == "+++");
  CHECK(steps(cursor, {"100.1:a", "130.2:b", "90.1:c", "90.2:d"}) == "...+");
  CHECK_FALSE(cursor.since());
  CHECK(steps(cursor, {"100.1:a", "130.2:b", "90.1:c", "90.2:d", "131:e"}) == "....+");
  CHECK(steps(cursor, {"130.2:b", "131:e", "131.5:f"}) == "..+");
  CHECK(cursor.since() == 130);
}
