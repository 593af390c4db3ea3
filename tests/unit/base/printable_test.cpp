// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <algorithm>
#include <array>
#include <random>

#include "support/catch.h"

using namespace trainstep;

namespace {

std::string shown(std::string_view line) {
  std::string text;
  append_shown(text, line);
  return text;
}

}  // namespace

TEST_CASE("untrusted text cannot start a line, move the cursor or change the text direction") {
  CHECK(printable("pulled\n[trainstep]  0:05  succeeded") == "pulled\\n[trainstep]  0:05  succeeded");
  CHECK(printable("\x1b[2J\x1b[31mred\x07\x7f") == "\\x1b[2J\\x1b[31mred\\x07\\x7f");
  CHECK(printable("over\rwritten") == "over\\rwritten");
  CHECK(printable("csi \xc2\x9b 8") == "csi \\u009b 8");
  CHECK(printable("\xe2\x80\xa8 \xe2\x80\xae \xd8\x9c") == "\\u2028 \\u202e \\u061c");
  CHECK(printable("bad \xff\xc3 \x9b end\xe2\x82") == "bad \\xff\\xc3 \\x9b end\\xe2\\x82");
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
}

TEST_CASE("what people write stays as it is") {
  for (const std::string text : {"", "plain", "tab\tulated", "Übung · 3 °C – naïve", "日本語 🎉"}) CHECK(printable(text) == text);
}

TEST_CASE("of a redrawn line the last visible state is kept") {
  CHECK(last_state("\r  0%|   |\r 50%|█ |\r100%|██|") == "100%|██|");
  CHECK(last_state("100%|██|\r") == "100%|██|");
  CHECK(last_state("windows line\r") == "windows line");
  CHECK(last_state("99%\r          \r") == "99%");
  CHECK(last_state("plain") == "plain");
  CHECK(last_state("\r\r").empty());
  CHECK(last_state("").empty());
}

TEST_CASE("a program's line keeps its colours and nothing that moves a cursor") {
  CHECK(shown("plain \t Übung °") == "plain \t Übung °");
  CHECK(shown("\x1b[31mred\x1b[0m") == "\x1b[31mred\x1b[0m");
  CHECK(shown("\x1b[1;38;5;9mred and on") == "\x1b[1;38;5;9mred and on\x1b[0m");
  CHECK(shown("\x1b[A\x1b[2K[trainstep]  0:01  succeeded") == "[trainstep]  0:01  succeeded");
  CHECK(shown("\x1b]0;title\x07named \x1b]52;c;aGk=\x1b\\end") == "named end");
  CHECK(shown("bell\x07 back\b\x0b\x0c\x7f") == "bell back");
  CHECK(shown("c1 \xc2\x9b 2J") == "c1  2J");
  CHECK(shown("cut \x1b[") == "cut ");
  CHECK(shown(" 10%\r 20%\r\x1b[32m100%") == "\x1b[32m100%\x1b[0m");
}

TEST_CASE("a line in plain text has no colours") { CHECK(plain("\r\x1b[31mValueError\x1b[0m: no") == "ValueError: no"); }

TEST_CASE("a page of another server is shown on one line, and not whole") {
  CHECK(excerpt(" \r\n\t") == "");
  CHECK(excerpt("<html>\r\n  <h1>502\tBad Gateway</h1>\n") == "<html> <h1>502 Bad Gateway</h1>");
  CHECK(excerpt("a\x1b[31mb\xff") == "a [31mb\\xff");
  CHECK(excerpt(std::string(200, 'x') + 'y') == std::string(200, 'x') + "…");
}

TEST_CASE("control characters are tabs and line breaks, too") {
  for (const auto* text : {"a\tb", "a\n", "\x1b", "\x7f"}) CHECK(has_control(text));
  CHECK(has_control(std::string_view("\0", 1)));
  CHECK_FALSE(has_control("a b·ü"));
}

TEST_CASE("whatever bytes come, no line is broken and nothing is left that a terminal obeys but colours") {
  constexpr std::array<std::string_view, 14> pieces{"a",  "\x1b", "[",  "31m",  "0m",   "2J",           "\x1b]",
                                                    "\a", "\r",   "\n", "\xc2", "\x9b", "\xe2\x80\xa8", "\xff"};
  std::mt19937 random(1);
  const auto is_control = [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '\x7f'; };
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (auto n = random() % 12; n > 0; --n) text += pieces[random() % pieces.size()];
    CAPTURE(text);
    CHECK(std::ranges::none_of(printable(text), is_control));
    CHECK(std::ranges::none_of(plain(text), is_control));
    CHECK(plain(text).find("\xc2\x9b") == std::string::npos);
    auto line = shown(text);
    for (auto at = line.find("\x1b["); at != std::string::npos; at = line.find("\x1b[")) {
      const auto end = line.find_first_not_of("0123456789;:", at + 2);
      REQUIRE(end != std::string::npos);
      CHECK(line[end] == 'm');
      line.erase(at, end + 1 - at);
    }
    CHECK(std::ranges::none_of(line, is_control));
    if (is_plain(text)) CHECK(std::ranges::none_of(text, [&](char c) { return c != '\n' && is_control(c); }));
  }
}
