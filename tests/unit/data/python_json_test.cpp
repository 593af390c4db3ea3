// SPDX-License-Identifier: Apache-2.0
#include "data/python_json.h"

#include <cmath>
#include <limits>

#include "data/finite.h"
#include "data/yaml.h"
#include "support/catch.h"

using namespace trainstep;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("numbers that only Python's JSON knows are read and written as such") {
  const auto json = parse_python_json(R"({"a": [1, Infinity, -Infinity], "b": NaN, "c": "NaN, Infinity", "d": "a \" NaN", "NaN": 2})", "x");
  REQUIRE(json);
  CHECK((*json)["a"] == Json::array({1, infinity, -infinity}));
  CHECK(std::isnan((*json)["b"].get<double>()));
  CHECK((*json)["c"] == "NaN, Infinity");
  CHECK((*json)["d"] == "a \" NaN");
  CHECK((*json)["NaN"] == 2);
  CHECK(to_python_text(*json) == R"({"a":[1,Infinity,-Infinity],"b":NaN,"c":"NaN, Infinity","d":"a \" NaN","NaN":2})");
  CHECK(to_text(*json) == R"({"a":[1,"Infinity","-Infinity"],"b":"NaN","c":"NaN, Infinity","d":"a \" NaN","NaN":2})");
  CHECK(parse_python_json("-Infinity", "x").value() == Json(-infinity));
}

TEST_CASE("text that only starts like such a number is not one") {
  for (const auto* text : {"NaNs", "[Infinity1]", "--Infinity", "+Infinity", "Inf", "nan", "{NaN: 1}", "[NaN NaN]"}) {
    INFO(text);
    CHECK_FALSE(parse_python_json(text, "x"));
  }
  CHECK_FALSE(parse_json("[NaN]", "x"));
}

TEST_CASE("what is finite stays as it is") {
  const Json json = {{"a", {1, 2.5, "x", nullptr, true}}};
  CHECK(all_finite(json));
  CHECK(portable(json) == json);
  CHECK(portable(Json::array({infinity, Json{{"a", -infinity}}})) == Json::array({"Infinity", Json{{"a", "-Infinity"}}}));
  CHECK(to_pretty_text(Json::array({std::nan("")})) == "[\n  \"NaN\"\n]");
}

TEST_CASE("PyYAML's infinities are numbers where a specification is read") {
  const auto documents = parse_python_yaml_documents("a: .inf\nb: -.inf\nc: .nan\nd: '.inf'\n", "x");
  REQUIRE(documents);
  CHECK(documents->at(0)["a"] == Json(infinity));
  CHECK(documents->at(0)["b"] == Json(-infinity));
  CHECK(std::isnan(documents->at(0)["c"].get<double>()));
  CHECK(documents->at(0)["d"] == ".inf");
  CHECK_FALSE(parse_yaml("a: .inf", "x"));
}
