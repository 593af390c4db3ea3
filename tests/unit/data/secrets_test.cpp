// SPDX-License-Identifier: Apache-2.0
#include "data/secrets.h"

#include "support/catch.h"

using namespace trainstep;

TEST_CASE("secrets are found and hidden at any depth") {
  const Json json = {
      {"api_key", "key-12345678"}, {"nested", {{"password", {"pass-12345678", 5}}, {"url", "https://tok-12345678@host"}}}, {"epochs", 3}};
  std::vector<std::string> secrets;
  collect_secrets("", json, secrets);
  CHECK(secrets == std::vector<std::string>{"key-12345678", "pass-12345678", "5", "tok-12345678"});
  CHECK(redacted_json(json, {}) ==
        Json{{"api_key", "[redacted]"}, {"nested", {{"password", "[redacted]"}, {"url", "https://[redacted]@host"}}}, {"epochs", 3}});
  // What JSON escapes is found, too.
  CHECK(redacted_json(Json{{"message", "it is \"quoted\"\n"}}, {"\"quoted\"\n"}) == Json{{"message", "it is [redacted]"}});
}
