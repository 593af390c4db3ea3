// SPDX-License-Identifier: Apache-2.0
#include "http/lines.h"

#include <memory>
#include <random>
#include <vector>

#include "support/catch.h"

using namespace trainstep::http;

namespace {

// What came of `text` when it is fed in pieces: "<" begins a line, ">" ends it.
std::string marked(Lines& lines, const std::vector<std::string>& pieces, bool finish = true) {
  std::string result;
  const auto each = [&result](const Lines::Line& line) {
    result += (line.first ? "<" : "") + std::string(line.text) + (line.last ? ">" : "|");
    return true;
  };
  for (const auto& piece : pieces) CHECK(lines.feed(piece, each));
  if (finish) CHECK(lines.finish(each));
  return result;
}

}  // namespace

TEST_CASE("lines are complete however the bytes were split") {
  struct Case {
    std::vector<std::string> pieces;
    std::string expected;
  };
  const Case cases[] = {
      {{}, ""},
      {{"", ""}, ""},
      {{"a\n"}, "<a>"},
      {{"a", "\n"}, "<a>"},
      {{"a\nb\n"}, "<a><b>"},
      {{"a\n", "b"}, "<a><b>"},
      {{"\n\n", "\n"}, "<><><>"},
      {{"ab", "cd", "e\r\nf"}, "<abcde\r><f>"},
      {{std::string("a\0b\n", 4)}, std::string("<a\0b>", 5)},
  };
  for (const auto& [pieces, expected] : cases) {
    Lines lines;
    CHECK(marked(lines, pieces) == expected);
  }
}

TEST_CASE("a line beyond the limit comes in pieces counted from its beginning") {
  struct Case {
    std::vector<std::string> pieces;
    std::string expected;
  };
  const Case cases[] = {
      {{"abcd\n"}, "<abcd>"},
      {{"abcd", "\n"}, "<abcd>"},
      {{"abcde\n"}, "<abcd|e>"},
      {{"abcdefgh\nx\n"}, "<abcd|efgh><x>"},
      {{"ab", "cdefgh", "i"}, "<abcd|efgh|i>"},
  };
  for (const auto& [pieces, expected] : cases) {
    Lines lines(4);
    CHECK(marked(lines, pieces) == expected);
  }
}

TEST_CASE("pieces of long lines do not depend on the cuts") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (auto length = random() % 60; length > 0; --length) text += random() % 6 == 0 ? '\n' : static_cast<char>('a' + random() % 3);
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      pieces.push_back(text.substr(at, random() % 7));
      at += pieces.back().size();
    }
    Lines whole(5);
    Lines cut(5);
    CHECK(marked(cut, pieces) == marked(whole, {text}));
  }
}

TEST_CASE("the one who reads the lines may stop, and even destroy them") {
  auto lines = std::make_unique<Lines>();
  CHECK(lines->feed("begin", [](const Lines::Line&) { return true; }));
  int count = 0;
  CHECK_FALSE(lines->feed("ning\nsecond\n", [&](const Lines::Line& line) {
    lines.reset();
    ++count;
    return line.text != "beginning";
  }));
  CHECK(count == 1);
}

TEST_CASE("after a reset nothing of the old bytes is left") {
  Lines lines(3);
  CHECK(marked(lines, {"abcd"}, false) == "<abc|");
  lines.reset();
  CHECK(marked(lines, {"x\n"}) == "<x>");
}
