// SPDX-License-Identifier: Apache-2.0
#include "base/redact.h"

#include "support/catch.h"

using namespace trainstep;

TEST_CASE("what is secret does not stay in a text") {
  struct Case {
    const char* text;
    const char* wanted;
  };
  const Case cases[] = {
      {"key hunter22 end", "key [redacted] end"},
      {"hunter22hunter22", "[redacted][redacted]"},
      {"Authorization: Bearer abc.def-123 then", "Authorization: Bearer [redacted] then"},
      {"token=eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln, more", "token=[redacted], more"},
      {"get https://me:pass@host:8443/x and http://host/y", "get https://[redacted]@host:8443/x and http://host/y"},
      {"https://me@host/ stays, as there is no password in it", "https://me@host/ stays, as there is no password in it"},
      {"short ab stays", "short ab stays"},
      {"", ""},
  };
  for (const auto& [text, wanted] : cases) CHECK(redacted(text, {"hunter22", "ab"}) == wanted);
}

TEST_CASE("variables tell by their names that they hold a secret") {
  CHECK(secrets_of_environment({"AWS_SECRET_ACCESS_KEY=a", "HF_TOKEN=b=c", "PATH=/bin", "DB_PASSWORD=", "broken"}) ==
        std::vector<std::string>{"a", "b=c", ""});
}
