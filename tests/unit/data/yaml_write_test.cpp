// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "data/yaml.h"
#include "support/catch.h"

using namespace trainstep;

namespace {

void check_round_trip(const Json& json) {
  const auto text = to_yaml(json);
  CAPTURE(text);
  const auto read = parse_yaml(text, "it");
  if (!read) FAIL(read.error().message);
  CHECK(to_text(*read) == to_text(json));
}

const char* const texts[] = {"8080",
                             "true",
                             "True",
                             "null",
                             "1e3",
                             "0x10",
                             "0o7",
                             "~",
                             "",
                             " ",
                             " a",
                             "a ",
                             "a: b",
                             "a:",
                             ":a",
                             "a:b",
                             "#x",
                             "a #x",
                             "a#x",
                             "- x",
                             "-",
                             "---",
                             "...",
                             "yes",
                             "no",
                             "on",
                             "Off",
                             "y",
                             "2026-01-01",
                             "2026-01-01T10:00:00Z",
                             "12:30:45",
                             "1_000",
                             "0123",
                             "1.10",
                             ".5",
                             ".inf",
                             ".nan",
                             "NaN",
                             "<<",
                             "=",
                             "!",
                             "!!str x",
                             "&a",
                             "*a",
                             "@x",
                             "`x`",
                             "%x",
                             "|",
                             ">",
                             "?",
                             "? x",
                             "[a]",
                             "{a}",
                             "a, b",
                             "[",
                             "}",
                             ",",
                             "'",
                             "''",
                             "\"",
                             "it's",
                             "say \"x\"",
                             "\\",
                             "\\n",
                             "C:\\x",
                             "10Gi",
                             "500m",
                             "1.5G",
                             "python:3.9",
                             "https://x/y?z=1#a",
                             "/bin/sh",
                             "a  b",
                             "line\nbreak",
                             "line\n",
                             "line\n\n",
                             "line\n\n\n",
                             "\n",
                             "\n\n",
                             "\nline",
                             "\n\nline\n",
                             " line\nline",
                             "line\n line\n  x",
                             "\tline\nx",
                             "line\n\tx",
                             "line \nx ",
                             "line\n \nx",
                             "line\n\nx",
                             "line\n\t\nx",
                             "a\r\nb\r\n",
                             "a\rb",
                             "#a\n#b",
                             "- a\n- b\n",
                             "---\nx",
                             "x\n---\ny\n",
                             "...\n",
                             "x: 1\ny: 2\n",
                             "\t",
                             "a\tb",
                             "é",
                             "日本語",
                             "😀 x",
                             "é\nx",
                             "\x01",
                             "\x7F",
                             "\u0085",
                             "a\u0085b\nc",
                             "\u00A0",
                             "\u2028",
                             "a\u2028\nb",
                             "\uFEFF",
                             "\uFEFFa\nb",
                             "\uFFFE",
                             "\x1B[31m",
                             "None",
                             "nan",
                             "inf",
                             "{{inputs.parameters.x}}",
                             "{{$.inputs}}",
                             "$(VAR)",
                             "key = \"value\"\n"};

}  // namespace

TEST_CASE("every string survives a round trip, as a value, a key and an item") {
  for (const auto* text : texts) {
    check_round_trip(text);
    check_round_trip(Json{{"key", text}, {"next", 1}});
    check_round_trip(Json{{text, "value"}, {"next", Json{{text, text}}}});
    check_round_trip(Json::array({text, Json::array({text, Json{{text, text}}}), text}));
  }
}

TEST_CASE("every kind of value survives a round trip") {
  const char* const values[] = {"0",
                                "-1",
                                "18446744073709551615",
                                "-9223372036854775808",
                                "1.0",
                                "-0.0",
                                "0.1",
                                "1e-05",
                                "1e+20",
                                "1.5e+300",
                                "5e-324",
                                "true",
                                "false",
                                "null",
                                "[]",
                                "{}",
                                "[[]]",
                                "[{}]",
                                "{\"a\":{}}",
                                "{\"a\":[]}",
                                "[[[1],[2,[3]]],[]]",
                                "{\"a\":[{\"b\":[1,{\"c\":null}],\"d\":{\"e\":[[{}]]}}]}",
                                "[{\"a\":1,\"b\":[2]},{\"a\":3}]"};
  for (const auto* value : values) {
    const auto json = parse_json(value, "it");
    REQUIRE(json);
    check_round_trip(*json);
    check_round_trip(Json{{"key", *json}});
    check_round_trip(Json::array({*json, *json}));
  }
}

TEST_CASE("random values survive a round trip") {
  std::mt19937 random(7);  // NOLINT: the same values each time
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  const std::function<Json(int)> make = [&](int depth) -> Json {
    const auto kind = pick(depth > 0 ? 6 : 4);
    if (kind < 3) return texts[pick(std::size(texts))];
    if (kind == 3) return Json::array({1, -2.5, true, nullptr})[pick(4)];
    Json json = kind == 4 ? Json::array() : Json::object();
    for (auto n = pick(5); n > 0; --n) {
      if (kind == 4)
        json.push_back(make(depth - 1));
      else
        json[texts[pick(std::size(texts))]] = make(depth - 1);
    }
    return json;
  };
  for (int i = 0; i < 500; ++i) check_round_trip(make(5));
}

TEST_CASE("keys of any length survive a round trip") {
  for (const std::size_t length : {900U, 1001U, 1020U, 3000U, 70'000U}) {
    const std::string name(length, 'k');
    check_round_trip(Json{{name, 1}, {"list", Json::array({Json{{name + "\n", Json{{name, Json::array({1})}}}, {"x", 1}}})}});
  }
}

TEST_CASE("invisible whitespace is quoted: blank lines, leading blanks") {
  CHECK(to_yaml("line\n \nx") == "\"line\\n \\nx\"\n");
  CHECK(to_yaml("line\n\t\nx") == "\"line\\n\\t\\nx\"\n");
  CHECK(to_yaml("line\n  ") == "\"line\\n  \"\n");
  CHECK(to_yaml(" a\nb") == "\" a\\nb\"\n");
  CHECK(to_yaml("line\n\n x") == "|-\n  line\n\n   x\n");
}

TEST_CASE("bytes that are not UTF-8 are replaced") { CHECK(to_yaml("a\xFF") == "\"a\uFFFD\"\n"); }

TEST_CASE("manifests look as people write them") {
  const auto json = parse_json(R"({"apiVersion": "kubeflow.org/v1", "metadata": {"name": "x-1", "labels": {}, "annotations": {"a/b": "true"}},
    "spec": {"containers": [{"name": "main", "image": "python:3.9", "args": ["--n", "8", "a: b"], "command": ["sh", "-c", "set -e\necho 1\n"]}],
    "limits": {"cpu": "8", "memory": "1Gi"}, "count": 3, "matrix": [[1, 2], []]}})",
                               "it");
  REQUIRE(json);
  CHECK(to_yaml(*json) == R"(apiVersion: kubeflow.org/v1
metadata:
  name: x-1
  labels: {}
  annotations:
    a/b: "true"
spec:
  containers:
  - name: main
    image: python:3.9
    args:
    - "--n"
    - "8"
    - "a: b"
    command:
    - sh
    - "-c"
    - |
      set -e
      echo 1
  limits:
    cpu: "8"
    memory: 1Gi
  count: 3
  matrix:
  - - 1
    - 2
  - []
)");
}

TEST_CASE("comments follow the values that they describe") {
  const auto comment = [](const std::string& pointer) -> std::optional<std::string> {
    if (pointer == "/a~1b/count" || pointer == "/list" || pointer == "/list/1" || pointer == "/list/0/text") return "from\n" + pointer;
    return std::nullopt;
  };
  const Json json = {{"a/b", {{"count", 1}}}, {"list", Json::array({Json{{"text", "x\ny"}}, Json{{"z", 1}}})}};
  const auto* const expected = R"(a/b:
  count: 1  # from /a~1b/count
list:  # from /list
- text: |-  # from /list/0/text
    x
    y
-  # from /list/1
  z: 1
)";
  const auto text = to_yaml(json, comment);
  CHECK(text == expected);
  CHECK(parse_yaml(text, "it") == json);
}
