// SPDX-License-Identifier: Apache-2.0
#include "data/yaml.h"

#include "support/catch.h"

using namespace trainstep;

namespace {

std::string read(std::string_view text, const ReadLimits& limits = {}) {
  auto json = parse_yaml(text, "it", limits);
  if (json) return to_text(*json);
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

TEST_CASE("scalars have the type that their spelling says") {
  struct Case {
    const char* text;
    const char* json;
  };
  const Case cases[] = {
      {"8080", "8080"},
      {"\"8080\"", "\"8080\""},
      {"'8080'", "\"8080\""},
      {"-7", "-7"},
      {"+7", "7"},
      {"1.5", "1.5"},
      {"-.5", "-0.5"},
      {"1.", "1.0"},
      {"1.0e+20", "1e+20"},
      {"1.0e-05", "1e-05"},
      {"true", "true"},
      {"True", "true"},
      {"FALSE", "false"},
      {"null", "null"},
      {"~", "null"},
      {"", "null"},
      {"a: ", "{\"a\":null}"},
      {"!!str 123", "\"123\""},
      {"!!str null", "\"null\""},
      {"a: !!str", "{\"a\":\"\"}"},
      {"! 12", "\"12\""},
      {"!!int \"3\"", "3"},
      {"!!float 3", "3.0"},
      {"!!bool \"true\"", "true"},
      {"[!!null ~, !!seq [], !!map {}]", "[null,[],{}]"},
      {"a: |\n  x\n  y\n", "{\"a\":\"x\\ny\\n\"}"},
      {"a: >-\n  x\n  y\n", "{\"a\":\"x y\"}"},
      {"\xEF\xBB\xBF# a comment\na: 1", "{\"a\":1}"},
      {"a: 1\r\nb: 2\r\n", "{\"a\":1,\"b\":2}"},
      {"[a: 1, {b, c: 2}]", "[{\"a\":1},{\"b\":null,\"c\":2}]"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    CHECK(read(c.text) == c.json);
  }
}

TEST_CASE("what versions of YAML read as different numbers is a string, as it is written") {
  for (const auto* text : {"0x1F", "0o17", "0123", "-0123", "0xFFFFFFFFFFFFFFFFFFFF", "0b11", "1_000", "12:30:45"}) {
    CAPTURE(text);
    CHECK(read(std::string("a: ") + text) == std::string(R"({"a":")") + text + "\"}");
    CHECK_FALSE(parse_yaml(std::string("a: !!int ") + text, "it"));
  }
}

TEST_CASE("what PyYAML leaves unquoted as a string is a string") {
  for (const auto* text : {"yes",   "no",   "on",   "off",  "y",   "2026-01-01", "12:30:45", "1e3", "1.5e3", "08", "0123", "1_000",
                           "1.2.3", "0b11", "10Gi", "None", "NaN", "nan",        "=",        "0x",  "1e",    "+",  ".",    "1.0e+"}) {
    CAPTURE(text);
    CHECK(read(std::string("a: ") + text) == std::string(R"({"a":")") + text + "\"}");
  }
}

TEST_CASE("quoted scalars are folded and unescaped as YAML says") {
  struct Case {
    const char* text;
    const char* value;
  };
  const Case cases[] = {
      {"'it''s'", "it's"},
      {"'a\n  b'", "a b"},
      {"'a  \n\n  b\n  c'", "a\nb c"},
      {"'b\n\n\n  '", "b\n\n"},
      {"'\n\n  '", "\n"},
      {"'\n  b'", " b"},
      {"'a\r\n\r\n  b'", "a\nb"},
      {"'C:\\n'", "C:\\n"},
      {"\"a\\\n   b\"", "ab"},
      {"\"a \\\n   \\  b\"", "a   b"},
      {"\"a\\t\n  b\"", "a\t b"},
      {"\"\\x41\\u00e9\\U0001F600\\N\\_\\L\\P\\r\\e\\/\\\"\"", "A\u00e9\U0001F600\u0085\u00a0\u2028\u2029\r\x1b/\""},
      {"!!str  &x # why\n  'a'", "a"},
      {"! \"8\"", "8"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const auto root = parse_yaml(c.text, "it");
    REQUIRE(root);
    CHECK(*root == Json(c.value));
    CHECK(read("- " + std::string(c.text)) == to_text(Json::array({c.value})));
  }
}

TEST_CASE("a YAML error has location, problem and remedy") {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"a: 1\nb: [1, 2\nc: 3\n", "it: line 2, column 4: the '[' opened here is not closed, or is missing a comma"},
      {"x:\n  y: {a: 1", "it: line 2, column 6: the '{' opened here is not closed, or is missing a comma"},
      {"a:\n\t- b", "it: line 2, column 2: tab in the indentation; YAML requires spaces"},
      {"a: b: c", "it: line 1, column 5: unexpected \"key: value\"; check the indentation, and quote strings that contain a colon"},
      {"a: \"x\" y", "it: line 1, column 8: expected \"key: value\" with the indentation of its neighbours"},
      {"k:\n  - a\n - b", "it: line 3, column 2: expected \"key: value\" with the indentation of its neighbours"},
      {"a: -\n", "it: line 1, column 4: unexpected list item (-); check the indentation"},
      {"a: @x", "it: line 1, column 4: a value cannot start with '@'; quote it"},
      {"...\n,", "it: line 2, column 1: a value cannot start with ','; quote it"},
      {"a: \"x", "it: line 1, column 6: unterminated string at the end of the text"},
      {"a: \"x\n", "it: line 1, column 4: unterminated string"},
      {"- !!str 'it''s\n", "it: line 1, column 9: unterminated string"},
      {"a: \"C:\\data\"", "it: line 1, column 7: \\d is not a valid YAML escape; write a backslash as \\\\, or use single quotes"},
      {"a: 1\n}", "it: line 2, column 1: unmatched '}'"},
      {"a: *b", "it: line 1, column 4: this alias (*) refers to an anchor (&) that is not defined before it"},
      {"a: &x [*x]", "it: line 1, column 8: this alias is inside the value it refers to"},
      {"a: 1\nb: 2\na: 3", "it: line 3, column 1: duplicate key 'a'; remove one"},
      {"a: 1\n\"a\": 3", "it: line 2, column 1: duplicate key 'a'; remove one"},
      {"a: 1\nfoo\n", "it: line 2, column 1: missing colon after this key"},
      {"a: 1\n<<\n", "it: line 2, column 1: missing colon after this key"},
      {"- a\nb: 1", "it: line 2, column 1: unexpected line; check its indentation (a new document starts with ---)"},
      {"1: x", "it: line 1, column 1: expected a string as key, got a number; put it in quotes if it is a string"},
      {"true: x", "it: line 1, column 1: expected a string as key, got a boolean; put it in quotes if it is a string"},
      {"~: x", "it: line 1, column 1: missing or null key; put it in quotes if it is a string"},
      {"? - a\n: b", "it: line 1, column 3: a key cannot be a list or an object"},
      {"a: !foo 1", "it: line 1, column 4: unsupported tag '!foo'"},
      {"a: !!binary aGk=", "it: line 1, column 4: unsupported tag !!binary"},
      {"!!python/tuple [1]", "it: line 1, column 1: unsupported tag 'tag:yaml.org,2002:python/tuple'"},
      {"a: !!int x", "it: line 1, column 4: 'x' is not a valid !!int"},
      {"a: .nan", "it: line 1, column 4: .nan is not a representable number; put it in quotes if it is a string"},
      {"a: -.inf", "it: line 1, column 4: -.inf is not a representable number; put it in quotes if it is a string"},
      {"a: 1.0e+999", "it: line 1, column 4: number '1.0e+999' is too large"},
      {"a: 1.0e-999", "it: line 1, column 4: number '1.0e-999' is too small"},
      {"a: 100000000000000000000",
       "it: line 1, column 4: the number '100000000000000000000' exceeds 64 bits; put it in quotes to pass it unchanged to a string parameter"},
      {"a: 12345678901234567890123",
       "it: line 1, column 4: the number '12345678901234567890123' exceeds 64 bits; put it in quotes to pass it unchanged to a string parameter"},
      {"a: 1\n---\nb: 2", "it: expected one document, got 2 (separated by ---)"},
      {"%X y\n!\"a\nb\\Nc\"\n: v\n", "it: line 2, column 1: unsupported escape in this string (\\N and \\_); write the character itself"},
      {"a: x\x04y", "it: line 1, column 5: the control character U+0004; YAML allows it only as an escape in double quotes (\\x04)"},
      {"ä: \xFF", "it: line 1, column 4: byte 0xFF is not valid UTF-8; save the text as UTF-8"},
      {"a:\n  <<: 1", "it: line 2, column 3: the merge key << requires an object or a list of objects"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    CHECK(read(c.text) == c.message);
  }
}

TEST_CASE("text that looks like JSON is diagnosed as JSON") {
  CHECK(read("{\"a\": 1,\n \"b\": [1, 2}") == "it: line 2, column 12: the [ opened at line 2, column 7 cannot be closed by }");
  CHECK(read("{\"a\": None}").find("None is Python") != std::string::npos);
  CHECK(read("{\"a\": 1, \"a\": 2}") == "it: line 1, column 10: duplicate key 'a'; remove one");
  SECTION("and is YAML where it can be") {
    CHECK(read("{\"a\": b, c: [d, 1,]}") == R"({"a":"b","c":["d",1]})");
    CHECK(read("[None, nan]") == R"(["None","nan"])");
    CHECK(read("{a: 1, b") == "it: line 1, column 1: a key cannot be a list or an object; is a closing bracket missing?");
  }
}

TEST_CASE("aliases are written out and merge keys applied") {
  CHECK(read("a: &x {p: 1, q: [2]}\nb: *x\nc: [*x, *x]") == R"({"a":{"p":1,"q":[2]},"b":{"p":1,"q":[2]},"c":[{"p":1,"q":[2]},{"p":1,"q":[2]}]})");
  CHECK(read("a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\n  r: 4") == R"({"a":{"p":1,"q":2},"b":{"q":3,"r":4,"p":1}})");
  CHECK(read("a: &x {p: 1}\nb: &y {p: 2, q: 2}\nc: {<<: [*x, *y]}") == R"({"a":{"p":1},"b":{"p":2,"q":2},"c":{"p":1,"q":2}})");
  CHECK(read("&k key: *k") == R"({"key":"key"})");
  CHECK(read("a: &x b\n*x : 1") == R"({"a":"b","b":1})");
  CHECK(read("a: &x 1\nb: &x 2\nc: *x") == R"({"a":1,"b":2,"c":2})");
  CHECK(read("\"<<\": 1") == R"({"<<":1})");
}

TEST_CASE("several documents are read in their order") {
  const auto documents = parse_yaml_documents("a: 1\n---\n- 2\n...\n# end\n---\n---\nx", "it");
  REQUIRE(documents);
  REQUIRE(documents->size() == 4);
  CHECK(to_text((*documents)[0]) == R"({"a":1})");
  CHECK(to_text((*documents)[1]) == "[2]");
  CHECK((*documents)[2].is_null());
  CHECK((*documents)[3] == "x");
  CHECK(parse_yaml_documents("# nothing", "it")->empty());
  CHECK(read("---\na: 1\n---\n") == R"({"a":1})");
}

TEST_CASE("empty lines and comments between two documents do not divide them, and do not hide what does") {
  const auto count = [](std::string_view text) {
    const auto documents = parse_yaml_documents(text, "it");
    return documents ? documents->size() : 0;
  };
  CHECK(count("a\n...\n\n \t\r\n  # c\n\nb") == 2);
  CHECK(count("a\n...  \n#\nb: 1") == 2);
  CHECK(count("- a\n---\nb: 1") == 2);
  CHECK(read("- a\n\n# c\n\nb: 1") == "it: line 5, column 1: unexpected line; check its indentation (a new document starts with ---)");
  CHECK(read("- a\n\nb: 1") == "it: line 3, column 1: unexpected line; check its indentation (a new document starts with ---)");
  CHECK(read("- a\n \t\r\nb: 1") == "it: line 3, column 1: unexpected line; check its indentation (a new document starts with ---)");
}

TEST_CASE("an alias bomb is an error, by its number of values or by its size") {
  std::string values = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const auto last = "*a" + std::to_string(i - 1);
    values += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last + repeated(", " + last, 9) + "]\n";
  }
  CHECK(read(values).find("more than 1000000 values (aliases included)") != std::string::npos);

  const auto text = "a: &a " + std::string(1'000'000, 'x') + "\nb:\n" + repeated("- *a\n", 100'000);
  CHECK(read(text).find("with aliases expanded, the text exceeds 33554432 bytes") != std::string::npos);
}

TEST_CASE("the depth added by aliases is limited, too") {
  CHECK(read("a: &a [[1]]\nb: [[*a]]", {.depth = 4}).find("nested deeper than 4 levels") != std::string::npos);
  CHECK(read("a: &a [[1]]\nb: [*a]", {.depth = 4}) == R"({"a":[[1]],"b":[[[1]]]})");
}

TEST_CASE("YAML that is nested very deep ends in an error, in each of its styles") {
  for (const auto* part : {"[", "{", "- ", "? ", "[{", "{a: ", "- [", "a: [\n", "- - "}) {
    CAPTURE(part);
    CHECK(read(repeated(part, 100'000)).starts_with("it: line "));
    CHECK(read("x: " + repeated(part, 100'000)).starts_with("it: line "));
  }
  std::string stairs;
  for (std::size_t depth = 0; depth < 1000; ++depth) stairs += std::string(depth, ' ') + "a:\n";
  CHECK(read(stairs).find("nested deeper than 200 levels") != std::string::npos);
  CHECK(read("x: " + repeated("[", 2'000'000)).find("nested deeper than 200 levels") != std::string::npos);
}

TEST_CASE("limits of YAML are errors that name the limit") {
  CHECK(read("- 1\n- 2\n- 3\n", {.nodes = 3}) == "it: line 3, column 3: more than 3 values (aliases included)");
  CHECK(read("- 1\n- 2\n", {.nodes = 3}) == "[1,2]");
  CHECK(read(repeated("#", std::size_t{2} << 20U), {.bytes = std::size_t{1} << 20U}) == "it: 2.0 MB exceeds the limit of 1.0 MB");
}

TEST_CASE("a long text is read whatever its shape") {
  const std::size_t size = 300'000;
  for (const auto* part : {"word ", "word\n", "# x\n", " ", "\n", "---\n", "a:b ", "-", "'", "- x\n"}) {
    CAPTURE(part);
    CHECK(parse_yaml_documents(repeated(part, size / std::string_view(part).size()), "it"));
  }
  CHECK(read("a: |\n" + repeated("  word\n", size / 7)).size() > size / 2);
  CHECK(read('"' + repeated("word\\n", size / 6) + '"').size() > size / 2);
}
