// SPDX-License-Identifier: Apache-2.0
#include "data/yaml_quoted.h"

#include <string>

#include "support/catch.h"

using namespace trainstep;

namespace {

std::optional<std::string> read(const std::string& text) {
  const auto quoted = read_quoted(text, 0);
  REQUIRE(quoted);
  return quoted->text;
}

}  // namespace

TEST_CASE("an escape is a character of Unicode: the first and the last of each length in UTF-8") {
  CHECK(read(R"("\x00")") == std::string(1, '\0'));
  CHECK(read(R"("\x7f\u0080")") == "\x7F\u0080");
  CHECK(read(R"("\u07fF\u0800")") == "\u07FF\u0800");
  CHECK(read(R"("\uD7FF\uE000")") == "\uD7FF\uE000");
  CHECK(read(R"("\uFFFF\U00010000")") == "\uFFFF\U00010000");
  CHECK(read(R"("\U0010FFFF")") == "\U0010FFFF");
}

TEST_CASE("unpaired surrogates and code points beyond U+10FFFF are invalid") {
  for (const auto* text :
       {R"("\uD800")", R"("\uDBFF")", R"("\uDC00")", R"("\uDFFF")", R"("\ud83d\ude00")", R"("\U0000D800")", R"("\U00110000")", R"("\UFFFFFFFF")"}) {
    CAPTURE(text);
    CHECK_FALSE(read(text));
  }
}

TEST_CASE("an escape that is cut short, or none of YAML, is an error, as is a quote that nothing closes") {
  for (const auto* text : {R"("\x4")", R"("\x4g")", R"("\u00e")", R"("\u00e ")", R"("\U0001F60")", R"("\x-1")", R"("\x+1")", R"("\q")", R"("\)",
                           R"("\x41)", "\"a", "'a", "'a''", "\"a\\\"", "\"", "'"}) {
    CAPTURE(text);
    CHECK_FALSE(read(text));
  }
}

TEST_CASE("a quoted scalar is found after its tag, anchor, blanks and comments; anything else is not one") {
  struct Row {
    std::string text;
    std::size_t at;
  };
  for (const auto& row : {Row{"'a'", 0}, Row{" \t\r\n\"a\"", 4}, Row{"!!str 'a'", 6}, Row{"&x !t 'a'", 6}, Row{"# it's\n'a'", 7}}) {
    CAPTURE(row.text);
    const auto quoted = read_quoted(row.text, 0);
    REQUIRE(quoted);
    CHECK(quoted->at == row.at);
    CHECK(quoted->text == "a");
  }
  for (const auto* text : {"", "a", "a 'b'", "-'a'", "# 'a'", "!'a'", "&x", "!", "   "}) {
    CAPTURE(text);
    CHECK_FALSE(read_quoted(text, 0));
  }
}
