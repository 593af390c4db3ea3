// SPDX-License-Identifier: Apache-2.0
#include "step/html.h"

#include <string>

#include "support/catch.h"

using namespace trainstep::step;

namespace {

constexpr auto replacement = "\xEF\xBF\xBD";

std::string replacements(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += replacement;
  return text;
}

}  // namespace

TEST_CASE("the first and the last character of each length in UTF-8 pass") {
  for (const std::string character : {"\x7E", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF",
                                      "\xF0\x90\x80\x80", "\xF3\x80\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    CAPTURE(character);
    CHECK(escaped(character) == character);
    CHECK(escaped("a" + character + "<") == "a" + character + "&lt;");
  }
}

TEST_CASE("bytes that are not UTF-8 are replaced one by one, and adjacent text is kept") {
  struct Row {
    const char* what;
    std::string bytes;
  };
  const Row rows[] = {
      {"a tail alone", "\x80"},
      {"the last tail alone", "\xBF"},
      {"two bytes for ASCII", "\xC0\xAF"},
      {"two bytes for ASCII, the last", "\xC1\xBF"},
      {"three bytes where two do", "\xE0\x9F\xBF"},
      {"four bytes where three do", "\xF0\x8F\xBF\xBF"},
      {"the first surrogate", "\xED\xA0\x80"},
      {"the last surrogate", "\xED\xBF\xBF"},
      {"beyond U+10FFFF", "\xF4\x90\x80\x80"},
      {"far beyond", "\xF5\x80\x80\x80"},
      {"no first byte of anything", "\xFF"},
      {"two of two tails", "\xE2\x82"},
      {"three of four", "\xF0\x9F\x98"},
      {"one of two", "\xC3"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    CHECK(escaped(row.bytes) == replacements(row.bytes.size()));
    CHECK(escaped("ä" + row.bytes + "z") == "ä" + replacements(row.bytes.size()) + "z");
  }
}

TEST_CASE("markup is escaped, line breaks and tabs stay, other control characters and a terminal's sequences go") {
  CHECK(escaped("<a href=\"x\">'&'</a>") == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  CHECK(escaped("a\nb\tc\rd\x01"
                "e\x1F"
                "f\x7F"
                "g ~") == "a\nb\tcdefg ~");
  CHECK(escaped(std::string("a\0b", 3)) == "ab");
  CHECK(escaped("\x1B[1;31mred\x1B[0m.") == "red.");
  CHECK(escaped("\x1B]0;title\ax\x1B]0;unfinished\ny") == "x\ny");
  CHECK(escaped("\x1B=x\x1B") == "x");
  CHECK(escaped("a\x1B[12") == "a");
  CHECK(escaped("a\x1B[") == "a");
  CHECK(escaped("a\x1B]0;t") == "a");
}

TEST_CASE("a long text is cut between characters and marked") {
  CHECK(shortened("abc", 3) == "abc");
  CHECK(shortened("abcd", 3) == "abc…");
  CHECK(shortened("aäb", 2) == "a…");
  CHECK(shortened("aäb", 3) == "aä…");
  CHECK(shortened("äää", 1) == "…");
  CHECK(shortened("", 0).empty());
}
