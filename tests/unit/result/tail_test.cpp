// SPDX-License-Identifier: Apache-2.0
#include "result/tail.h"

#include "base/max_line_length.h"
#include "support/catch.h"

using namespace trainstep::result;
using Lines = std::vector<std::string>;

TEST_CASE("a tail keeps the last lines") {
  Tail tail(3, 100);
  CHECK(tail.empty());
  for (const auto* line : {"a", "b", "c", "d", "e"}) tail.push(line);
  CHECK(tail.lines() == Lines{"c", "d", "e"});
  tail.clear();
  CHECK(tail.lines().empty());
  tail.push("f");
  CHECK(tail.lines() == Lines{"f"});
}

TEST_CASE("a tail is bounded in bytes, and keeps the end of a line that is too long") {
  Tail tail(10, 6);
  tail.push("aaa");
  tail.push("bbb");
  CHECK(tail.lines() == Lines{"aaa", "bbb"});
  tail.push("c");
  CHECK(tail.lines() == Lines{"bbb", "c"});
  tail.push("0123456789");
  CHECK(tail.lines() == Lines{"456789"});
}

TEST_CASE("a tail keeps no part of a word where a line is cut, or was split") {
  Tail tail(10, 8);
  tail.push("first second third");
  CHECK(tail.lines() == Lines{" third"});
  Tail pieces(10, 2 * trainstep::max_line_length);
  pieces.push(std::string(trainstep::max_line_length - 10, 'x') + " token hf_AbC");
  pieces.push("dEf and so on");
  CHECK(pieces.lines().front().ends_with(" token "));
  CHECK(pieces.lines().back() == " and so on");
  pieces.push("next line");
  CHECK(pieces.lines().back() == "next line");
}

TEST_CASE("a tail of no lines keeps none") {
  Tail tail(0, 10);
  tail.push("a");
  CHECK(tail.lines().empty());
}
