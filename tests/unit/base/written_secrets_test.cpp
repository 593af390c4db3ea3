// SPDX-License-Identifier: Apache-2.0
#include "base/written_secrets.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "base/redact.h"
#include "support/catch.h"

using namespace trainstep;

TEST_CASE("the value after a name is redacted though name, sign or value have colours of their own") {
  for (const auto* text : {"\033[33mpassword\033[0m=\033[32mhunter2\033[0m", "pass\033[1mword\033[0m: hunter2", "pass\aword=hunter2"})
    CHECK_THAT(without_written_secrets(text), !Catch::Matchers::Contains("hunter2"));
  CHECK(without_quoted_secrets("\"\033[33mpassword\033[0m: hunter2\"") == "\"password: [redacted]\"");
  CHECK(without_written_secrets("\033[33mloss\033[0m=0.5") == "\033[33mloss\033[0m=0.5");
}

TEST_CASE("the value after a name or flag of a secret is redacted, and nothing else") {
  struct Row {
    const char *text, *hidden;
  };
  for (const auto& row : {Row{"host=db password=hunter2 port=5", "host=db password=[redacted] port=5"},
                          Row{"Server=db;Password='two words';X=1", "Server=db;Password='[redacted]';X=1"},
                          Row{R"({"api_key": "k", "epochs": 3})", R"({"api_key": "[redacted]", "epochs": 3})"},
                          Row{R"({\"token\": \"t\"})", R"({\"token\": \"[redacted]\"})"},
                          Row{R"({"api_tokens": ["k1", "k2"], "n": [1]})", R"({"api_tokens": ["[redacted]", "[redacted]"], "n": [1]})"},
                          Row{R"({\"api_tokens\": [\"k1\", \"k2\"]})", R"({\"api_tokens\": [\"[redacted]\", \"[redacted]\"]})"},
                          Row{"api_tokens: [\n  'k1',\n  'k2'\n], b", "api_tokens: [\n  '[redacted]',\n  '[redacted]'\n], b"},
                          Row{"api_tokens: [k1, k2], b", "api_tokens: [[redacted], [redacted]], b"},
                          Row{R"({"tokens": ["hf_AbCd1234EfGh", "hello"]})", R"({"tokens": ["[redacted]", "hello"]})"},
                          Row{"serve --token x --port 5", "serve --token [redacted] --port 5"},
                          Row{"sh -c 'serve --token x'", "sh -c 'serve --token [redacted]'"},
                          Row{"serve --api-key=x -v", "serve --api-key=[redacted] -v"},
                          Row{R"(["--token", "x", "y"])", R"(["--token", "[redacted]", "y"])"},
                          Row{"Authorization: Bearer abc def", "Authorization: [redacted] def"},
                          Row{"Authorization: Basic YTpi", "Authorization: [redacted]"},
                          Row{"password: hunter2 of me", "password: [redacted] of me"},
                          Row{"password: hunter for me", "password: [redacted] for me"},
                          Row{"password: hunt", "password: [redacted]"},
                          Row{"a/b token: hunter for me", "a/b token: [redacted] for me"},
                          Row{"authorization: token abc def", "authorization: [redacted] def"},
                          Row{"Authorization=ApiKey abc", "Authorization=[redacted]"},
                          Row{"a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb", "a\n[redacted]\nb"},
                          Row{"-----BEGIN PRIVATE KEY-----\\nMII", "[redacted]"},
                          Row{"a: 1\npassword:\n  hunter2\nb: 2", "a: 1\npassword:\n  [redacted]\nb: 2"},
                          Row{"  private_key: |-\n    MII\n\n    abc\n  b: 2", "  private_key: |-\n    [redacted]\n  b: 2"},
                          Row{"password: >\n two\n words", "password: >\n [redacted]"},
                          Row{"- token:\n    hunter2\n- b", "- token:\n    [redacted]\n- b"},
                          Row{"credentials:\n  user: me\n  password: hunter2", "credentials:\n  user: me\n  password: [redacted]"},
                          Row{"password:\n  - hunter2\n  - hunter3\nb: 2", "password:\n  [redacted]\nb: 2"},
                          Row{"api_key: str = 'hunter2'", "api_key: [redacted]'"},
                          Row{"token: Optional[str] = hunter2, n: int = 3", "token: [redacted], n: int = 3"},
                          Row{"os.environ['HF_TOKEN'] = 'hunter2'", "os.environ['HF_TOKEN'] = '[redacted]'"},
                          Row{"os.environ[\"HF_TOKEN\"]=\"hunter2\"", "os.environ[\"HF_TOKEN\"]=\"[redacted]\""},
                          Row{"serve\n--token\nhunter2", "serve\n--token\n[redacted]"},
                          Row{R"(["--token", "-xY2", "y"])", R"(["--token", "[redacted]", "y"])"},
                          Row{"serve --token -xY2 -v", "serve --token [redacted] -v"},
                          Row{"password => 'hunter2', a => 1", "password => '[redacted]', a => 1"},
                          Row{"password := hunter2", "password := [redacted]"},
                          Row{"if token == \"hunter2\":", "if token == \"[redacted]\":"},
                          Row{"password: &mine hunter2", "password: [redacted]"},
                          Row{"password: !!str hunter2\nb: 2", "password: [redacted]\nb: 2"},
                          Row{"TOKEN = \"\"\"hunter2\nx\"\"\"\nb = 2", "TOKEN = \"\"\"[redacted]\"\"\"\nb = 2"},
                          Row{"os.environ.setdefault(\"HF_TOKEN\", \"hunter2\")", "os.environ.setdefault(\"HF_TOKEN\", \"[redacted]\")"},
                          Row{"putenv('HF_TOKEN','hunter2')", "putenv('HF_TOKEN','[redacted]')"},
                          Row{"Authorization:\tBearer\tabc def", "Authorization:\t[redacted] def"},
                          Row{"api_tokens: hunter2", "api_tokens: [redacted]"},
                          Row{"HF_TOKEN  =  hunter2 b", "HF_TOKEN  =  [redacted] b"},
                          Row{R"({"HF_TOKEN =": "hunter2"})", R"({"HF_TOKEN =": "[redacted]"})"},
                          Row{R"({\"HF_TOKEN = \" : \"hunter2\"})", R"({\"HF_TOKEN = \" : \"[redacted]\"})"},
                          Row{"- --token\n- hunter2\n- -v", "- --token\n- [redacted]\n- -v"},
                          Row{"machine hub login me password hunter2", "machine hub login me password [redacted]"},
                          Row{"machine hub\n  login me\n  password hunter2\n", "machine hub\n  login me\n  password [redacted]\n"}}) {
    CAPTURE(row.text);
    CHECK(without_written_secrets(row.text) == row.hidden);
    CHECK(holds_secret("options", row.text));
  }
}

TEST_CASE("harmless text stays readable") {
  for (const auto* text : {"max_tokens=5",
                           "--max-tokens 5 --sort-key name",
                           "the password is not here",
                           "--token --verbose",
                           "--token",
                           "token",
                           "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
                           "password=[redacted]",
                           "token_file=/a/b",
                           "- --token\n- --verbose",
                           "enter your password below",
                           "login and password are wanted",
                           "to login me password is wanted",
                           "password:\nb: 2",
                           "cannot read /trainstep/keys/0/access_key: no such file or directory",
                           "/keys/access_key: Permission denied",
                           "HF_TOKEN: is missing",
                           "token: not found",
                           "",
                           R"(["--token", "--verbose"])",
                           "serve --token -v",
                           "os.environ.get(\"HF_TOKEN\", default)",
                           "say(\"token is old\", \"x\")",
                           "num_tokens: 3",
                           "tokens: 4096"}) {
    CAPTURE(text);
    CHECK(without_written_secrets(text) == text);
  }
}

TEST_CASE("a message redacts the secrets that it quotes, and keeps its own text") {
  struct Row {
    const char *text, *shown;
  };
  for (const auto& row :
       {Row{R"(memory: "token=hunter22" is not a valid quantity)", R"(memory: "token=[redacted]" is not a valid quantity)"},
        Row{R"(unexpected argument "HF_TOKEN=hunter22")", R"(unexpected argument "HF_TOKEN=[redacted]")"},
        Row{"the program has no parameter 'api_key=hunter22'; its parameters are inputs none",
            "the program has no parameter 'api_key=[redacted]'; its parameters are inputs none"},
        Row{"/x/token=hunter22: no such file", "/x/token=[redacted] no such file"},
        Row{R"(limits: "api_key: hunter22" is not a valid duration)", R"(limits: "api_key: [redacted]" is not a valid duration)"},
        Row{R"(name: "--token hunter22" is no name)", R"(name: "--token [redacted]" is no name)"},
        Row{R"(user "me": token: expected a string, got 3)", R"(user "me": token: expected a string, got 3)"},
        Row{R"(cluster_configuration_secret: "Store" cannot be a name)", R"(cluster_configuration_secret: "Store" cannot be a name)"},
        Row{"exceeded quota: q, requested: secrets=1, used: secrets=20, limited: secrets=hunter22",
            "exceeded quota: q, requested: secrets=1, used: secrets=20, limited: secrets=[redacted]"},
        Row{R"(secrets "store": access_key: Forbidden)", R"(secrets "store": access_key: Forbidden)"}}) {
    CAPTURE(row.text);
    CHECK(without_quoted_secrets(row.text) == row.shown);
  }
}

TEST_CASE("a long text is read once, whatever it repeats") {
  for (const std::string_view part : {"{\"a\":", "a=[", "token=[redacted", "--a \"", "-----BEGIN ", "password:\"", "-token ", "password:\n ",
                                      "password: |\n", "password: str = ", "login a password ", "machine a login b password ", "--token\n"}) {
    std::string text;
    while (text.size() < (std::size_t{1} << 18U)) text += part;
    CAPTURE(part);
    CHECK(without_written_secrets(text).size() <= text.size() * 2);
  }
}
