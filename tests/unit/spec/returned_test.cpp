// SPDX-License-Identifier: Apache-2.0
#include "spec/returned.h"

#include <cmath>
#include <string>

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::spec;
using Catch::Matchers::Contains;

namespace {

Output output(Type type, std::string name = "o") { return {std::move(name), type, ""}; }

Json parsed(const std::string& text) {
  auto json = parse_executor_output(text, "out.json");
  if (!json) FAIL(json.error().message);
  return std::move(*json);
}

// "none", the value as JSON (NaN and infinities as Python writes them), or the error.
std::string returned(const Output& output, const std::string& executor_output) {
  const auto value = returned_value(output, parsed(executor_output));
  if (!value) return "none";
  if (!*value) return value->error().message;
  if ((*value)->is_number_float() && !std::isfinite((*value)->get<double>())) {
    const auto number = (*value)->get<double>();
    return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
  }
  return to_text(**value);
}

}  // namespace

TEST_CASE("a value is found under both spellings of the executor output") {
  CHECK(returned(output(Type::integer), R"({"parameterValues": {"o": 3}})") == "3");
  CHECK(returned(output(Type::integer), R"({"parameter_values": {"o": 3}})") == "3");
  CHECK(returned(output(Type::integer), R"({"parameterValues": {"other": 3}})") == "none");
  CHECK(returned(output(Type::integer), R"({"parameterValues": []})") == "none");
  CHECK(returned(output(Type::integer), "{}") == "none");
}

TEST_CASE("NaN and infinity, as Python's json writes them, are values of a number") {
  CHECK(returned(output(Type::number), R"({"parameterValues": {"o": NaN}})") == "NaN");
  CHECK(returned(output(Type::number), R"({"parameterValues": {"o": Infinity}})") == "Infinity");
  CHECK(returned(output(Type::number), R"({"parameterValues": {"o": -Infinity}})") == "-Infinity");
  CHECK(returned(output(Type::number), R"({"parameterValues": {"o": -1.5}})") == "-1.5");
  CHECK(returned(output(Type::string), R"({"parameterValues": {"o": "NaN"}})") == R"("NaN")");
  CHECK_THAT(returned(output(Type::integer), R"({"parameterValues": {"o": NaN}})"), Contains("an integer"));
}

TEST_CASE("an integer beyond 64 bits is the nearest double, as for Kubeflow Pipelines, where no integer is demanded") {
  const std::string digits = "123456789012345678901234567890";
  const auto rounded = to_text(Json(1.2345678901234568e29));
  for (const auto& written : {digits, '"' + digits + '"'})
    CHECK(returned(output(Type::number), R"({"parameterValues": {"o": )" + written + "}}") == rounded);
  CHECK(to_text(*value_from_file(output(Type::number), digits + "\n")) == rounded);
  CHECK(returned(output(Type::list), R"({"parameterValues": {"o": [)" + digits + "]}}") == "[" + rounded + "]");
  CHECK(to_text(*value_from_file(output(Type::object), R"({"a": )" + digits + "}")) == R"({"a":)" + rounded + "}");
  CHECK(returned(output(Type::boolean), R"({"parameterValues": {"o": true, "other": )" + digits + "}}") == "true");
  CHECK_THAT(returned(output(Type::integer), R"({"parameterValues": {"o": )" + digits + "}}"), Contains("an integer") && Contains("64 bits"));
}

TEST_CASE("inside lists, objects and texts NaN stays what it was, as text") {
  CHECK(returned(output(Type::list), R"({"parameterValues": {"o": [NaN, 1, -Infinity]}})") == R"(["NaN",1,"-Infinity"])");
  CHECK(returned(output(Type::object), R"({"parameterValues": {"o": {"NaN": NaN}}})") == R"({"NaN":"NaN"})");
  CHECK(returned(output(Type::string), R"({"parameterValues": {"o": "a \"NaN\" \\"}, "x": NaN})") == R"("a \"NaN\" \\")");
}

TEST_CASE("a value of another type is an error") {
  CHECK_THAT(returned(output(Type::integer), R"({"parameterValues": {"o": "three"}})"), Contains("an integer") && Contains("three"));
}

TEST_CASE("an executor output that is not a JSON object is an error with its location") {
  for (const auto* text : {"", "[]", "{", "3", "{\"a\": NaN", "Infinity"}) {
    CAPTURE(text);
    const auto json = parse_executor_output(text, "out.json");
    REQUIRE_FALSE(json);
    CHECK(json.error().kind == ErrorKind::input);
    CHECK_THAT(json.error().message, Contains("executor output") && Contains("out.json"));
  }
}

TEST_CASE("the text of a value's own file is taken as it is, read by its type") {
  struct Row {
    Type type;
    const char* text;
    const char* value;  // JSON; "": an error
  };
  const auto row = GENERATE(values<Row>({{Type::string, " a\n", R"(" a\n")"},
                                         {Type::integer, "7\n", "7"},
                                         {Type::number, "0.5\n", "0.5"},
                                         {Type::boolean, "True", "true"},
                                         {Type::list, "[1, NaN]", R"([1,"NaN"])"},
                                         {Type::object, R"({"a": -Infinity})", R"({"a":"-Infinity"})"},
                                         {Type::list, "1", ""},
                                         {Type::number, "much", ""}}));
  CAPTURE(row.text);
  const auto value = value_from_file(output(row.type), row.text);
  CHECK(value.has_value() == !std::string_view(row.value).empty());
  if (value) CHECK(to_text(*value) == row.value);
}

TEST_CASE("a non-finite number may be written as a word") {
  for (const auto* word : {"nan", "NaN", " NaN\n"}) CHECK(std::isnan(typed_value(output(Type::number), word)->get<double>()));
  for (const auto* word : {"inf", "+inf", "Infinity", "INF"}) CHECK(typed_value(output(Type::number), word)->get<double>() > 0);
  for (const auto* word : {"-inf", "-Infinity"}) CHECK(typed_value(output(Type::number), word)->get<double>() < 0);
  CHECK_FALSE(typed_value(output(Type::number), "infinite"));
}

TEST_CASE("an artifact's metadata and places come from the executor output, in both spellings") {
  const auto both = GENERATE("customPath", "custom_path");
  const auto json =
      parsed(std::string(R"({"artifacts": {"model": {"artifacts": [{"uri": "s3://b/k", "metadata": {"a": 1}, ")") + both + R"(": "/tmp/m"}]}}})");
  const auto artifact = returned_artifact(json, "model");
  CHECK(to_text(artifact.metadata) == R"({"a":1})");
  CHECK(artifact.places == std::vector<std::string>{"s3://b/k", "/tmp/m"});
}

TEST_CASE("an artifact that the executor output does not mention, or mentions oddly, has nothing") {
  const auto* text =
      GENERATE("{}", R"({"artifacts": []})", R"({"artifacts": {"model": {}}})", R"({"artifacts": {"model": {"artifacts": []}}})",
               R"({"artifacts": {"model": {"artifacts": ["x"]}}})", R"({"artifacts": {"model": {"artifacts": [{"uri": "", "metadata": 3}]}}})");
  CAPTURE(text);
  const auto artifact = returned_artifact(parsed(text), "model");
  CHECK(artifact.metadata == Json::object());
  CHECK(artifact.places.empty());
}

TEST_CASE("bytes that are not text are not a value") {
  CHECK(returned(output(Type::string), R"({"parameterValues": {"o": "a\u0000b"}})").starts_with("the program did not write text"));
  const Output text{"note", Type::string, "STRING"};
  CHECK(value_from_file(text, std::string(100'000, 'x') + "\u00e4\n").value() == Json(std::string(100'000, 'x') + "\u00e4\n"));
  for (const auto& bytes : {std::string("a\xff"), std::string("a\0b", 3)}) {
    const auto value = value_from_file(text, bytes);
    REQUIRE_FALSE(value);
    CHECK(value.error().kind == ErrorKind::input);
    CHECK(value.error().message.find("did not write text") != std::string::npos);
  }
}
