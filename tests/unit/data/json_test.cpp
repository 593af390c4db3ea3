// SPDX-License-Identifier: Apache-2.0
#include "data/json.h"

#include <chrono>
#include <limits>

#include "data/json_reader.h"
#include "support/catch.h"
#include "support/cpu_time.h"

using namespace trainstep;

namespace {

std::string problem(std::string_view text, const ReadLimits& limits = {}) {
  auto json = parse_json(text, "it", limits);
  if (json) return "no error, but " + to_text(*json);
  CHECK(json.error().kind == ErrorKind::input);
  return json.error().message;
}

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  text.reserve(part.size() * times);
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

}  // namespace

TEST_CASE("JSON is read with its keys in their order and its numbers in their kind") {
  const auto json = parse_json(R"( {"z": [1, -2, 2.0, 1e3], "a": {"true": true, "n": null}, "u": "\u00e9\ud83d\ude00\n"} )", "it");
  REQUIRE(json);
  CHECK(to_text(*json) == "{\"z\":[1,-2,2.0,1000.0],\"a\":{\"true\":true,\"n\":null},\"u\":\"é😀\\n\"}");
  CHECK((*json)["z"][0].is_number_unsigned());
  CHECK((*json)["z"][1].is_number_integer());
  CHECK((*json)["z"][2].is_number_float());
}

TEST_CASE("a document may be any kind of value, after an optional byte order mark") {
  for (const auto* text : {"1", "\"x\"", "true", "null", "[]", "{}", "-0.5"}) {
    CAPTURE(text);
    const auto json = parse_json("\xEF\xBB\xBF" + std::string(text), "it");
    REQUIRE(json);
    CHECK(to_text(*json) == text);
  }
}

TEST_CASE("a JSON error has location, problem and remedy") {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"", "it: line 1, column 1: empty; expected a JSON value"},
      {" \n ", "it: line 2, column 2: empty; expected a JSON value"},
      {"{'a': 1}",
       "it: line 1, column 2: single quotes: this looks like a Python dict; JSON needs double quotes, true, false and null: use json.dumps"},
      {"{\"a\": True}",
       "it: line 1, column 7: True is Python syntax: this looks like a Python dict; JSON needs double quotes, true, false and null: use json.dumps"},
      {"[None]",
       "it: line 1, column 2: None is Python syntax: this looks like a Python dict; JSON needs double quotes, true, false and null: use json.dumps"},
      {"{\"a\": 1,\n}", "it: line 2, column 1: trailing comma before }; remove it"},
      {"[1, 2, ]", "it: line 1, column 8: trailing comma before ]; remove it"},
      {"{\"a\": NaN}", "it: line 1, column 7: NaN is not a valid JSON number; write null or omit it"},
      {"[-Infinity]", "it: line 1, column 2: -Infinity is not a valid JSON number; write null or omit it"},
      {"{\"a\": 1", "it: line 1, column 8: unexpected end: the object opened at line 1, column 1 is not closed"},
      {"{\"a\":\n [1,", "it: line 2, column 5: unexpected end: the list opened at line 2, column 2 is not closed"},
      {"{\"a", "it: line 1, column 2: unterminated string"},
      {"{\"a\": \"x\n\"}", "it: line 1, column 9: line break in a string: add the closing quote, or write the line break as \\n"},
      {"[\"a\tb\"]", "it: line 1, column 4: tab in a string; write \\t"},
      {"[\"a\x01\"]", "it: line 1, column 4: the control character U+0001 in a string; write \\u0001"},
      {"[\"C:\\data\"]", "it: line 1, column 5: \\d is not a valid JSON escape; write a backslash as \\\\"},
      {"[\"\\ud83d\"]", "it: line 1, column 3: \\ud83d is an unpaired surrogate; write the character itself"},
      {"[\"\\ud83d\\ude00 \\udE00\"]", "it: line 1, column 16: \\udE00 is an unpaired surrogate; write the character itself"},
      {"[\"\\u12\"]", "it: line 1, column 3: \\u requires four hexadecimal digits"},
      {"{\"a\" 1}", "it: line 1, column 6: missing colon between key and value"},
      {"{\"a\": }", "it: line 1, column 7: the preceding key has no value"},
      {"{\"a\"}", "it: line 1, column 5: the preceding key has no value"},
      {"{\"a\":,}", "it: line 1, column 6: missing value before the comma"},
      {"[1 2]", "it: line 1, column 4: missing comma"},
      {"{\"a\": \"x\" \"b\": 1}", "it: line 1, column 11: missing comma"},
      {"[1,,2]", "it: line 1, column 4: missing value before the comma"},
      {"{a: 1}", "it: line 1, column 2: the key 'a' must be in double quotes"},
      {"{\"a\": b}", "it: line 1, column 7: the string 'b' must be in double quotes"},
      {"[01]", "it: line 1, column 2: '01' is not a valid JSON number (no leading zeros or plus sign; digits on both sides of the decimal point)"},
      {"01", "it: line 1, column 1: '01' is not a valid JSON number (no leading zeros or plus sign; digits on both sides of the decimal point)"},
      {"[1, 2abc]",
       "it: line 1, column 5: '2abc' is not a valid JSON number (no leading zeros or plus sign; digits on both sides of the decimal point)"},
      {"[true false]", "it: line 1, column 7: missing comma"},
      {"[1.]", "it: line 1, column 2: '1.' is not a valid JSON number (no leading zeros or plus sign; digits on both sides of the decimal point)"},
      {"[+1]", "it: line 1, column 2: '+1' is not a valid JSON number (no leading zeros or plus sign; digits on both sides of the decimal point)"},
      {"[1]]", "it: line 1, column 4: unexpected text after the JSON value"},
      {"{} x", "it: line 1, column 4: unexpected text after the JSON value"},
      {"[1}", "it: line 1, column 3: the [ opened at line 1, column 1 cannot be closed by }"},
      {"[1] // one", "it: line 1, column 5: unexpected text after the JSON value"},
      {"[ # one\n1]", "it: line 1, column 3: JSON does not allow comments"},
      {"{\u201Ca\u201D: 1}", "it: line 1, column 2: typographic quotes; JSON requires straight ones (\")"},
      {"[é]", "it: line 1, column 2: unexpected 'é'"},
      {"[\"é\", ]", "it: line 1, column 7: trailing comma before ]; remove it"},
      {"{\"a\": 1, \"b\": 2,\n \"a\": 3}", "it: line 2, column 2: duplicate key 'a'; remove one"},
      {"{\"\\\"\\\\\": 1, \"\\\"\\\\\": 2}", "it: line 1, column 13: duplicate key '\"\\'; remove one"},
      {"[1e999]", "it: line 1, column 2: number too large"},
      {"[12345678901234567890123]",
       "it: line 1, column 2: the number '12345678901234567890123' exceeds 64 bits; put it in quotes to pass it unchanged to a string parameter"},
      {"[\"\xFF\"]", "it: line 1, column 3: byte 0xFF is not valid UTF-8; save the text as UTF-8"},
      {"[\"\xED\xA0\x80\"]", "it: line 1, column 3: byte 0xED is not valid UTF-8; save the text as UTF-8"},
  };
  for (const auto& c : cases) CHECK(problem(c.text) == c.message);
}

TEST_CASE("a NUL character does not end a text silently") {
  CHECK(problem(std::string_view("{}\0garbage", 10)) == "it: line 1, column 3: NUL character; is this a binary file, or UTF-16?");
}

TEST_CASE("a number that would become another one is refused by its place") {
  const auto json = parse_json("[18446744073709551615, -9223372036854775808, 9007199254740993, 0.0, -0e9, 4.9e-324]", "it");
  REQUIRE(json);
  CHECK((*json)[0].get<std::uint64_t>() == std::numeric_limits<std::uint64_t>::max());
  CHECK((*json)[1].get<std::int64_t>() == std::numeric_limits<std::int64_t>::min());
  CHECK(to_text((*json)[2]) == "9007199254740993");
  const auto beyond = [](const std::string& digits) {
    return "it: line 1, column 2: the number '" + digits + "' exceeds 64 bits; put it in quotes to pass it unchanged to a string parameter";
  };
  for (const auto* digits : {"18446744073709551616", "-9223372036854775809", "100000000000000000000"})
    CHECK(problem("[" + std::string(digits) + "]") == beyond(digits));
  CHECK(problem("[1e-400]") == "it: line 1, column 2: number too small");
}

TEST_CASE("a large double is written without an exponent for readers that only know doubles") {
  const auto json = read_doubles("[100000000000000000000, 1e-400]", "it");
  REQUIRE(json);
  CHECK((*json)[0].get<double>() == 1e20);
  CHECK_FALSE(read_doubles("[18446744073709551617]", "it"));
  CHECK(read_answer("[18446744073709551617]", "it"));
}

TEST_CASE("a string after a key that names a secret is not quoted") {
  CHECK(problem(R"({"db": {"password": hunter2}})") == "it: line 1, column 21: strings must be in double quotes");
  CHECK(problem(R"({"db": {"user": hunter2}})") == "it: line 1, column 17: the string 'hunter2' must be in double quotes");
}

TEST_CASE("limits of JSON are errors that name the limit") {
  CHECK(problem("[[[1]]]", {.depth = 2}) == "it: line 1, column 3: nested deeper than 2 levels");
  CHECK(parse_json("[[1]]", "it", {.depth = 2}));
  CHECK(problem("[1,2,3]", {.nodes = 3}) == "it: line 1, column 7: more than 3 values (aliases included)");
  CHECK(parse_json("[1,2]", "it", {.nodes = 3}));
  CHECK(problem(repeated(" ", std::size_t{2} << 20U), {.bytes = std::size_t{1} << 20U}) == "it: 2.0 MB exceeds the limit of 1.0 MB");
}

TEST_CASE("JSON that is nested 100,000 or 16 million deep ends in an error") {
  CHECK(problem(repeated("[", 100'000)).find("nested deeper than 200 levels") != std::string::npos);
  CHECK(problem(repeated("{\"a\":", 100'000)).find("nested deeper than 200 levels") != std::string::npos);
  CHECK(problem(repeated("[", std::size_t{16} << 20U)).find("nested deeper than 200 levels") != std::string::npos);
}

TEST_CASE("objects of many members are read in linear time, duplicates found among them") {
  std::string text = "{";
  for (int i = 0; i < 50'000; ++i) text += "\"key " + std::to_string(i) + "\": 0,";
  const auto start = test::cpu_time();
  const auto json = parse_json(text + "\"last\": 1}", "it");
  REQUIRE(json);
  CHECK(json->size() == 50'001);
  CHECK(problem(text + "\"key 49999\": 1}").find("duplicate key 'key 49999'") != std::string::npos);
  // Quadratic time would be 1,250,000,000 comparisons.
  CHECK(test::cpu_time() - start < std::chrono::seconds(20));
}

TEST_CASE("a string that is not UTF-8 can always be written") {
  CHECK(to_text(Json{{"a", "x\xFF"}}) == "{\"a\":\"x\uFFFD\"}");
  CHECK(to_pretty_text(Json{{"a", Json::array({1})}}) == "{\n  \"a\": [\n    1\n  ]\n}");
}

TEST_CASE("find takes null and absent for the same, and needs no object") {
  const Json json = {{"a", nullptr}, {"b", 1}};
  CHECK(find(json, "a") == nullptr);
  CHECK(find(json, "c") == nullptr);
  REQUIRE(find(json, "b") != nullptr);
  CHECK(*find(json, "b") == 1);
  CHECK(find(Json(), "a") == nullptr);
  CHECK(find(Json::array(), "a") == nullptr);
}

TEST_CASE("types have the names of our messages") {
  CHECK(type_name(Json("x")) == "a string");
  CHECK(type_name(Json(1)) == "a number");
  CHECK(type_name(Json(1U)) == "a number");
  CHECK(type_name(Json(1.5)) == "a number");
  CHECK(type_name(Json(true)) == "a boolean");
  CHECK(type_name(Json::array()) == "a list");
  CHECK(type_name(Json::object()) == "an object");
  CHECK(type_name(Json()) == "null");
}
