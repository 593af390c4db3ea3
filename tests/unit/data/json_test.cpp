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

TEST_CASE("any kind of value may stand alone, with a byte order mark before it") {
  for (const auto* text : {"1", "\"x\"", "true", "null", "[]", "{}", "-0.5"}) {
    CAPTURE(text);
    const auto json = parse_json("\xEF\xBB\xBF" + std::string(text), "it");
    REQUIRE(json);
    CHECK(to_text(*json) == text);
  }
}

TEST_CASE("an error in JSON says where, what and what to do") {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"", "it: line 1, column 1: the text is empty, a JSON value is needed"},
      {" \n ", "it: line 2, column 2: the text is empty, a JSON value is needed"},
      {"{'a': 1}",
       "it: line 1, column 2: single quotes: this looks like a Python dict; JSON wants double quotes, true, false and null: use json.dumps"},
      {"{\"a\": True}",
       "it: line 1, column 7: True is Python: this looks like a Python dict; JSON wants double quotes, true, false and null: use json.dumps"},
      {"[None]",
       "it: line 1, column 2: None is Python: this looks like a Python dict; JSON wants double quotes, true, false and null: use json.dumps"},
      {"{\"a\": 1,\n}", "it: line 2, column 1: a comma stands before the closing }; take it away"},
      {"[1, 2, ]", "it: line 1, column 8: a comma stands before the closing ]; take it away"},
      {"{\"a\": NaN}", "it: line 1, column 7: NaN is no JSON number; write null or leave it out"},
      {"[-Infinity]", "it: line 1, column 2: -Infinity is no JSON number; write null or leave it out"},
      {"{\"a\": 1", "it: line 1, column 8: the text ends here, but the object that begins at line 1, column 1 is not closed"},
      {"{\"a\":\n [1,", "it: line 2, column 5: the text ends here, but the list that begins at line 2, column 2 is not closed"},
      {"{\"a", "it: line 1, column 2: the string that begins here has no closing quote"},
      {"{\"a\": \"x\n\"}", "it: line 1, column 9: a line break inside a string: its closing quote is missing, or the break must be written as \\n"},
      {"[\"a\tb\"]", "it: line 1, column 4: a tab inside a string: write \\t"},
      {"[\"a\x01\"]", "it: line 1, column 4: the control character U+0001 inside a string: write \\u0001"},
      {"[\"C:\\data\"]", "it: line 1, column 5: \\d is no escape of JSON; write a backslash as \\\\"},
      {"[\"\\ud83d\"]", "it: line 1, column 3: \\ud83d is half of a character (a surrogate without its other half); write the character itself"},
      {"[\"\\ud83d\\ude00 \\udE00\"]",
       "it: line 1, column 16: \\udE00 is half of a character (a surrogate without its other half); write the character itself"},
      {"[\"\\u12\"]", "it: line 1, column 3: \\u needs four hexadecimal digits"},
      {"{\"a\" 1}", "it: line 1, column 6: a colon is missing between the key and its value"},
      {"{\"a\": }", "it: line 1, column 7: the key before this has no value"},
      {"{\"a\"}", "it: line 1, column 5: the key before this has no value"},
      {"{\"a\":,}", "it: line 1, column 6: a value is missing before the comma"},
      {"[1 2]", "it: line 1, column 4: a comma is missing before this"},
      {"{\"a\": \"x\" \"b\": 1}", "it: line 1, column 11: a comma is missing before this"},
      {"[1,,2]", "it: line 1, column 4: a value is missing before the comma"},
      {"{a: 1}", "it: line 1, column 2: the key 'a' must stand in double quotes"},
      {"{\"a\": b}", "it: line 1, column 7: the text 'b' must stand in double quotes"},
      {"[01]", "it: line 1, column 2: '01' is no JSON number (no leading zeros or plus, digits on both sides of the point)"},
      {"01", "it: line 1, column 1: '01' is no JSON number (no leading zeros or plus, digits on both sides of the point)"},
      {"[1, 2abc]", "it: line 1, column 5: '2abc' is no JSON number (no leading zeros or plus, digits on both sides of the point)"},
      {"[true false]", "it: line 1, column 7: a comma is missing before this"},
      {"[1.]", "it: line 1, column 2: '1.' is no JSON number (no leading zeros or plus, digits on both sides of the point)"},
      {"[+1]", "it: line 1, column 2: '+1' is no JSON number (no leading zeros or plus, digits on both sides of the point)"},
      {"[1]]", "it: line 1, column 4: more text after the end of the JSON value"},
      {"{} x", "it: line 1, column 4: more text after the end of the JSON value"},
      {"[1}", "it: line 1, column 3: a [ opened at line 1, column 1 cannot be closed by }"},
      {"[1] // one", "it: line 1, column 5: more text after the end of the JSON value"},
      {"[ # one\n1]", "it: line 1, column 3: JSON knows no comments"},
      {"{\u201Ca\u201D: 1}", "it: line 1, column 2: typographic quotes; JSON wants plain ones (\")"},
      {"[é]", "it: line 1, column 2: 'é' is not expected here"},
      {"[\"é\", ]", "it: line 1, column 7: a comma stands before the closing ]; take it away"},
      {"{\"a\": 1, \"b\": 2,\n \"a\": 3}", "it: line 2, column 2: the key 'a' is given twice in the same object; keep one"},
      {"{\"\\\"\\\\\": 1, \"\\\"\\\\\": 2}", "it: line 1, column 13: the key '\"\\' is given twice in the same object; keep one"},
      {"[1e999]", "it: line 1, column 2: the number is too large"},
      {"[12345678901234567890123]",
       "it: line 1, column 2: the number '12345678901234567890123' is beyond 64 bits; put it in quotes, a parameter that is a text gets it as it is "
       "written"},
      {"[\"\xFF\"]", "it: line 1, column 3: the byte 0xFF is not valid UTF-8; save the text as UTF-8"},
      {"[\"\xED\xA0\x80\"]", "it: line 1, column 3: the byte 0xED is not valid UTF-8; save the text as UTF-8"},
  };
  for (const auto& c : cases) CHECK(problem(c.text) == c.message);
}

TEST_CASE("a NUL character does not end a text silently") {
  CHECK(problem(std::string_view("{}\0garbage", 10)) == "it: line 1, column 3: a NUL character; is this a binary file, or UTF-16?");
}

TEST_CASE("a number that would become another one is refused by its place") {
  const auto json = parse_json("[18446744073709551615, -9223372036854775808, 9007199254740993, 0.0, -0e9, 4.9e-324]", "it");
  REQUIRE(json);
  CHECK((*json)[0].get<std::uint64_t>() == std::numeric_limits<std::uint64_t>::max());
  CHECK((*json)[1].get<std::int64_t>() == std::numeric_limits<std::int64_t>::min());
  CHECK(to_text((*json)[2]) == "9007199254740993");
  const auto beyond = [](const std::string& digits) {
    return "it: line 1, column 2: the number '" + digits +
           "' is beyond 64 bits; put it in quotes, a parameter that is a text gets it as it is written";
  };
  for (const auto* digits : {"18446744073709551616", "-9223372036854775809", "100000000000000000000"})
    CHECK(problem("[" + std::string(digits) + "]") == beyond(digits));
  CHECK(problem("[1e-400]") == "it: line 1, column 2: the number is too small");
}

TEST_CASE("what knows doubles alone writes a large one without exponent") {
  const auto json = read_doubles("[100000000000000000000, 1e-400]", "it");
  REQUIRE(json);
  CHECK((*json)[0].get<double>() == 1e20);
  CHECK_FALSE(read_doubles("[18446744073709551617]", "it"));
  CHECK(read_answer("[18446744073709551617]", "it"));
}

TEST_CASE("a text behind a key that says secret is not quoted") {
  CHECK(problem(R"({"db": {"password": hunter2}})") == "it: line 1, column 21: a text must stand in double quotes");
  CHECK(problem(R"({"db": {"user": hunter2}})") == "it: line 1, column 17: the text 'hunter2' must stand in double quotes");
}

TEST_CASE("limits of JSON are errors that name the limit") {
  CHECK(problem("[[[1]]]", {.depth = 2}) == "it: line 1, column 3: nested deeper than 2 levels");
  CHECK(parse_json("[[1]]", "it", {.depth = 2}));
  CHECK(problem("[1,2,3]", {.nodes = 3}) == "it: line 1, column 7: more than 3 values (those of aliases included)");
  CHECK(parse_json("[1,2]", "it", {.nodes = 3}));
  CHECK(problem(repeated(" ", std::size_t{2} << 20U), {.bytes = std::size_t{1} << 20U}) == "it: the text has 2.0 MB, more than the limit of 1.0 MB");
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
  CHECK(problem(text + "\"key 49999\": 1}").find("the key 'key 49999' is given twice") != std::string::npos);
  // Quadratic time would be 1,250,000,000 comparisons.
  CHECK(test::cpu_time() - start < std::chrono::seconds(20));
}

TEST_CASE("a text with bytes that are no UTF-8 can always be written") {
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
