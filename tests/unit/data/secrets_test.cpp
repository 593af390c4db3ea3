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

TEST_CASE("a value is shown for what it is, unless its place says that it is secret") {
  CHECK(shown_value("train_parameters.epochs", "many") == "\"many\"");
  CHECK(shown_value("train_parameters.api_key", "key-1") == "a string (not shown)");
  CHECK(shown_value("job_options.environment.HF_TOKEN[0]", Json::object({{"a", 1}})) == "an object (not shown)");
  CHECK(shown_value("it", {{"password", "p"}, {"url", "x"}}) == "an object (not shown)");
  CHECK(shown_value("it", std::string(57, 'x') + "→→") == "\"" + std::string(57, 'x') + "…");
}

TEST_CASE("an error about a text does not hold its secrets, however wrong the text is") {
  const auto message = [](const char* text) { return without_secrets_of(text, input_error("at hunter22, here")).message; };
  for (const auto* text : {R"({"password": "hunter22"})", R"({"password": hunter22})", "{'password': 'hunter22'", "password: hunter22\n",
                           "password=hunter22", R"("{\"password\": \"hunter22\"}")", "{db_password : hunter22}", "api-key: 'hunter22'"}) {
    CAPTURE(text);
    CHECK(message(text) == "at [redacted], here");
  }
  for (const auto* text : {"hunter22", "name: hunter22", "password\n: hunter22", "max_tokens: hunter22", "password:", "\"password\""})
    CHECK(message(text) == "at hunter22, here");
}

TEST_CASE("secrets within strings and lists are redacted, the text around them is not") {
  CHECK(redacted_json(Json("host=db password=hunter2"), {}) == Json("host=db password=[redacted]"));
  CHECK(redacted_json(Json{"--token", "x", "--epochs", "5", "--token", "--loud"}, {}) ==
        Json{"--token", "[redacted]", "--epochs", "5", "--token", "--loud"});
  CHECK(redacted_json(Json{{"name", "HF_TOKEN"}, {"value", "x"}}, {}) == Json{{"name", "HF_TOKEN"}, {"value", "[redacted]"}});
  CHECK(redacted_json(Json{{"name", "EPOCHS"}, {"value", "5"}}, {}) == Json{{"name", "EPOCHS"}, {"value", "5"}});
  CHECK(redacted_json(Json("https://host/?token=abcdefgh&x=1"), {}) == Json("https://host/?token=[redacted]&x=1"));
  CHECK(redacted_json(Json("max_tokens=5"), {}) == Json("max_tokens=5"));
  CHECK(shown_value("key", "-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----") == "a string (not shown)");
}

TEST_CASE("the items of a list of tokens are secret") {
  const Json json = {{"max_tokens", {512, 1024}}, {"tokens", {"hf_AbCd1234EfGh", "hello"}}, {"nested", {{"tokens", {"hf_IjKl5678MnOp"}}}}};
  std::vector<std::string> secrets;
  collect_secrets("", json, secrets);
  CHECK(secrets == std::vector<std::string>{"hf_AbCd1234EfGh", "hf_IjKl5678MnOp"});
  CHECK(redacted_json(json, {}) == Json{{"max_tokens", {512, 1024}}, {"tokens", {"[redacted]", "hello"}}, {"nested", {{"tokens", {"[redacted]"}}}}});
}

TEST_CASE("the argument after a secret flag is redacted even if it starts with a dash, as is a list of such") {
  const Json words = {"--token", "-xY2abc", "--password", Json::array({"hunter22"}), "--token", "--verbose", "-v"};
  std::vector<std::string> secrets;
  collect_secrets("", words, secrets);
  CHECK(secrets == std::vector<std::string>{"-xY2abc", "hunter22"});
  CHECK(redacted_json(words, {}) == Json{"--token", "[redacted]", "--password", "[redacted]", "--token", "--verbose", "-v"});
}

TEST_CASE("arguments after a secret flag, and in a manifest's containers, are collected; names of Secrets are not") {
  std::vector<std::string> secrets;
  collect_secrets("", Json{"train", "--api-key", "key-12345678", "--token", "--loud", "yes", "--password=pass-12345678"}, secrets);
  CHECK(secrets == std::vector<std::string>{"key-12345678", "pass-12345678", "pass-12345678"});
  secrets.clear();
  const Json container = {{"name", "main"},
                          {"args", {"--token", "tok-12345678"}},
                          {"env",
                           {{{"name", "DB_PASSWORD"}, {"value", "db-12345678"}},
                            {{"name", "HF_TOKEN"}, {"valueFrom", {{"secretKeyRef", {{"name", "hub-keys"}, {"key", "token-of-hub"}}}}}},
                            {{"name", "EPOCHS"}, {"value", "12345678"}}}}};
  collect_secrets_of_containers({{"spec", {{"containers", {container}}, {"volumes", {{{"secretName", "hub-keys"}}}}}}}, secrets);
  CHECK(secrets == std::vector<std::string>{"tok-12345678", "db-12345678"});
}
