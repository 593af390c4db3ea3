// SPDX-License-Identifier: Apache-2.0
#include "data/fields.h"

#include <limits>

#include "support/catch.h"

using namespace trainstep;

TEST_CASE("a whole number is the one that was written, or none") {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  CHECK(whole_number(Json(std::uint64_t{9007199254740993})) == 9007199254740993);
  CHECK(whole_number(Json(largest)) == largest);
  CHECK(whole_number(Json("9007199254740993")) == 9007199254740993);
  CHECK(whole_number(Json(" -3.0 ")) == -3);
  CHECK(whole_number(Json(9007199254740992.0)) == 9007199254740992);
  for (const auto& none : {Json(std::numeric_limits<std::uint64_t>::max()), Json("9007199254740993.0"), Json("9223372036854775808"), Json(9.1e15),
                           Json(1e20), Json(0.5), Json("x"), Json(true)}) {
    CAPTURE(to_text(none));
    CHECK_FALSE(whole_number(none).has_value());
  }
}

TEST_CASE("a mistake quotes what was found, but no secret") {
  const Json object{{"workers", "many"}, {"api_key", 5}, {"mode", "x"}, {"address", {"https://me:hunter2@host"}}};
  const auto mistake = [&](auto ask) {
    Fields fields(object, "it");
    ask(fields);
    const auto fits = fields.fits();
    REQUIRE_FALSE(fits);
    return fits.error().message;
  };
  CHECK(mistake([](Fields& fields) { fields.integer("workers", 1, 9); }) == "it.workers: expected an integer from 1 to 9, got \"many\"");
  CHECK(mistake([](Fields& fields) { fields.text("api_key"); }) == "it.api_key: expected a string, got a number (not shown)");
  CHECK(mistake([](Fields& fields) { fields.choice("mode", {"alpha", "beta"}); }) == "it.mode: unknown value \"x\"; expected one of alpha, beta");
  const Json variable{{"name", "HF_TOKEN"}, {"value", {"hf-1"}}};
  Fields in_a_list(variable, "env[0]");
  CHECK_FALSE(in_a_list.variable("value"));
  CHECK(in_a_list.fits().error().message == "env[0].value: expected a string or a number, got a list (not shown)");
  CHECK(mistake([](Fields& fields) { fields.text("address"); }) == "it.address: expected a string, got a list (not shown)");
}

TEST_CASE("a key that is not known is quoted, but no secret") {
  const auto refused = [](const std::string& key) {
    const Json object{{key, 1}};
    Fields fields(object, "it");
    fields.integer("workers", 1, 9);
    const auto done = fields.done();
    REQUIRE_FALSE(done);
    return done.error().message;
  };
  CHECK(refused("worker") == "it: unknown key \"worker\"; did you mean \"workers\"?");
  CHECK(refused("mode") == "it: unknown key \"mode\"; expected one of workers");
  CHECK(refused("https://me:hunter2@host") == "it: unknown key (not shown); expected one of workers");
}
