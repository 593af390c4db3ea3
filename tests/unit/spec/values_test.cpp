// SPDX-License-Identifier: Apache-2.0
#include "spec/values.h"

#include <cmath>

#include "data/json_reader.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::spec;

namespace {

std::string fitted(const Json& value, Type type, std::string_view name = {}) {
  const auto json = fit(value, type, name);
  return json ? to_text(*json) : json.error().message;
}

}  // namespace

TEST_CASE("whole numbers arrive as they were written, or are refused") {
  for (const auto* digits : {"9007199254740993", "9223372036854775807", "18446744073709551615", "-9223372036854775808"}) {
    CAPTURE(digits);
    for (const auto type : {Type::integer, Type::number}) {
      CHECK(fitted(digits, type) == digits);
      CHECK(fitted(*parse_json(digits, "it"), type) == digits);
    }
    CHECK(fitted(*parse_json(digits, "it"), Type::string) == "\"" + std::string(digits) + "\"");
  }
  for (const auto* digits : {"18446744073709551616", "100000000000000000000"})
    CHECK_THAT(fitted(digits, Type::integer), Catch::Contains("expected an integer, got") && Catch::Contains("64 bits"));
  CHECK_THAT(fitted(*read_doubles("100000000000000000000", "it"), Type::integer),
             Catch::Contains("expected an integer") && Catch::Contains("64 bits"));
  CHECK(fitted("100000000000000000000", Type::number) == "1e+20");
  CHECK_THAT(fitted("18446744073709551617", Type::number),
             Catch::Contains("expected a number, got") && Catch::Contains("double cannot represent it exactly: declare the parameter"));
  CHECK_THAT(fitted("[18446744073709551617]", Type::list), Catch::Contains("expected a list, got") && Catch::Contains("exceeds 64 bits"));
}

TEST_CASE("a double is exact, or refused") {
  CHECK(to_text(*as_double(Json(3), "x")) == "3.0");
  CHECK(as_double(Json(9007199254740992), "x")->get<double>() == 9007199254740992.0);
  CHECK(as_double(Json(-0.5), "x"));
  for (const auto* digits : {"9007199254740993", "-9007199254740993", "18446744073709551615", "9223372036854775807"}) {
    CAPTURE(digits);
    CHECK_FALSE(as_double(*parse_json(digits, "it"), "x"));
  }
}

TEST_CASE("a negative zero stays one") {
  const auto json = with_whole_numbers(Json{-0.0, 2.0});
  CHECK(std::signbit(json[0].get<double>()));
  CHECK(to_text(json) == "[-0.0,2]");
}

TEST_CASE("a value that does not fit is not quoted where its name says secret") {
  CHECK(fitted("hunter2", Type::integer, "api_key") == "expected an integer, got a string (not shown)");
  CHECK(fitted("{hunter2", Type::object, "credentials") == "expected an object, got a string (not shown)");
  CHECK(fitted("https://me:hunter2@host", Type::boolean, "flag") == "expected true or false, got a string (not shown)");
}
