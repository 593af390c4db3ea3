// SPDX-License-Identifier: Apache-2.0
#include "plan/value_text.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;
using spec::Dialect;

TEST_CASE("a value is written as its dialect's SDK or launcher writes it") {
  struct Row {
    const char* value;
    const char* v1;  // what serialize_value of the SDK 1.8.22 returned
    const char* v2;
  };
  for (const auto& row : std::vector<Row>{
           {"3", "3", "3"},
           {"-7", "-7", "-7"},
           {"true", "True", "true"},
           {"false", "False", "false"},
           {"\"x 'y'\"", "x 'y'", "x 'y'"},
           {"0.1", "0.1", "0.1"},
           {"2.0", "2.0", "2"},
           {"-0.0", "-0.0", "-0"},
           {"1e-05", "1e-05", "0.00001"},
           {"0.0001", "0.0001", "0.0001"},
           {"-2.5e-7", "-2.5e-07", "-0.00000025"},
           {"123456789012345.0", "123456789012345.0", "123456789012345"},
           {"1e15", "1000000000000000.0", "1000000000000000"},
           {"1e16", "1e+16", "10000000000000000"},
           {"1.5e22", "1.5e+22", "15000000000000000000000"},
           {"1e23", "1e+23", "100000000000000000000000"},
           {"5e-10", "5e-10", "0.0000000005"},
           {"12.75", "12.75", "12.75"},
           {"[]", "[]", "[]"},
           {"{}", "{}", "{}"},
           {"[1, 2.0, \"a\", null, true]", "[1, 2.0, \"a\", null, true]", "[1,2,\"a\",null,true]"},
           {R"({"b": 1, "a": {"y": [0.1], "x": "é\n\""}})", R"({"a": {"x": "\u00e9\n\"", "y": [0.1]}, "b": 1})",
            R"({"b":1,"a":{"y":[0.1],"x":"é\n\""}})"},
       }) {
    INFO(row.value);
    CHECK(value_text(Json::parse(row.value), Dialect::v1) == row.v1);
    CHECK(value_text(Json::parse(row.value), Dialect::v2) == row.v2);
    CHECK(value_text(Json::parse(row.value), Dialect::plain) == row.v2);
  }
}
