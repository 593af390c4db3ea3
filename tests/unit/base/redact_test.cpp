#include "base/redact.h"

#include <algorithm>

#include "base/max_line_length.h"
#include "support/catch.h"

using namespace trainstep;

TEST_CASE("secrets are redacted") {
  struct Case {
    const char* text;
    const char* wanted;
  };
  const Case cases[] = {
      {"key hunter22 end", "key [redacted] end"},
      {"hunter22hunter22", "[redacted][redacted]"},
      {"hunter2233 is longer", "[redacted] is longer"},
      {"Authorization: Bearer abc.def-123 then", "Authorization: Bearer [redacted] then"},
      {"token=eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln, more", "token=[redacted], more"},
      {"get https://me:pass@host:8443/x and http://host/y", "get https://[redacted]@host:8443/x and http://host/y"},
      {"https://TOKEN@host/ and s3://bucket/a@b", "https://[redacted]@host/ and s3://bucket/a@b"},
      {"two https://a:b@c https://d@e", "two https://[redacted]@c https://[redacted]@e"},
      {"<a href='https://u:p@h'>", "<a href='https://[redacted]@h'>"},
      {"PUT http://s3/b/k?X-Amz-Signature=0a1b&X-Amz-Date=1 done", "PUT http://s3/b/k?X-Amz-Signature=[redacted]&X-Amz-Date=1 done"},
      {"http://h/?a=1&access_token=t0&b=2", "http://h/?a=1&access_token=[redacted]&b=2"},
      {"is it 3? sig=1 & x=2", "is it 3? sig=1 & x=2"},
      {"https_proxy=svc:pw@proxy:3128 x", "https_proxy=[redacted]@proxy:3128 x"},
      {"image u:pw@reg.example/x:1", "image [redacted]@reg.example/x:1"},
      {"svc:a@b@localhost", "[redacted]@localhost"},
      {"http://svc:p/ss@proxy.corp:3128/", "http://[redacted]@proxy.corp:3128/"},
      {"http://h:80/a@b.c https://h/@user/x", "http://h:80/a@b.c https://h/@user/x"},
      {"reg.example/x:1.0@sha256:0a1b x:1@sha256:0a1b", "reg.example/x:1.0@sha256:0a1b x:1@sha256:0a1b"},
      {"me@host.example, git@github.com:a/b, 12:30@noon", "me@host.example, git@github.com:a/b, 12:30@noon"},
      {"short ab stays", "short ab stays"},
      {"", ""},
  };
  for (const auto& [text, wanted] : cases) CHECK(redacted(text, {"hunter22", "ab", "hunter2233"}) == wanted);
}

TEST_CASE("a long text without blanks is read once") {
  for (const auto* part : {"a@", "a:b@", "://", "@", "a:"}) {
    std::string text;
    while (text.size() < 100'000) text += part;
    CHECK(redacted(text, {}).size() >= 1'000);
  }
}

TEST_CASE("a secret is found as it is, and as programs print it") {
  struct Case {
    const char* secret;
    const char* written;
  };
  const Case cases[] = {
      {"a\"b'c\\d\nend", "a\"b'c\\d\nend"},
      {"a\"b'c\\d\nend", R"(a"b'c\\d\nend)"},
      {"a\"b'c\\d\nend", R"(a"b\'c\\d\nend)"},
      {"a\"b'c\\d\nend", R"(a\"b'c\\d\nend)"},
      {"hunter22\n", "hunter22"},
      {" \thunter22\r\n", "hunter22"},
      {"hunt+er/22", "hunt%2Ber%2F22"},
      {"hunt&er<22>", "hunt&amp;er&lt;22&gt;"},
      {"hunt'er22", "hunt'\"'\"'er22"},
      {"h\u00fcnter22", R"(h\u00fcnter22)"},
      {"h\u00fcnter22", R"(h\xfcnter22)"},
      {"h\u00fcnter22", R"(h\xc3\xbcnter22)"},
      {"h\U0001F600nter22", R"(h\ud83d\ude00nter22)"},
      {"h\U0001F600nter22", R"(h\U0001f600nter22)"},
      {"h\u4e2dnter22", "h%E4%B8%ADnter22"},
      {"h\u00fcnter22", R"(h\u00FCnter22)"},
      {"hunt&er<22>\"x", R"(hunt\u0026er\u003c22\u003e\"x)"},
      {"hunt'er22", R"(hunt'\''er22)"},
      {"\xFFhunter22", "\xFFhunter22"},
  };
  for (const auto& c : cases) {
    INFO(c.secret << " as " << c.written);
    CHECK(redacted("x " + std::string(c.written) + " y", {c.secret}) == "x [redacted] y");
  }
  CHECK(redacted("a b", {"    \n   ", ""}) == "a b");
}

TEST_CASE("the beginning of a secret is found where a text was cut off") {
  const std::vector<std::string> secrets{"hf_AbCdEfGhIjKl", "training-token"};
  for (const auto* end : {"", "...", "\u2026", " "})
    CHECK(redacted(std::string(R"({"value":"hf_AbCdEf)") + end, secrets) == std::string(R"({"value":"[redacted])") + end);
  CHECK(redacted("hf_AbCdEf is another one", secrets) == "hf_AbCdEf is another one");
  CHECK(redacted("named hf_AbCd", secrets) == "named hf_AbCd");  // too short to be useful
  CHECK(redacted("failed while training", secrets) == "failed while training");
}

TEST_CASE("the end of a secret is found where the beginning of a text was cut off") {
  const std::vector<std::string> secrets{"hf_AbCdEfGhIjKl", "password-training", "QWJjZGVmZ2hpamts+w=="};
  CHECK(redacted("CdEfGhIjKl is what follows", secrets) == "[redacted] is what follows");
  CHECK(redacted("hpamts+w==\"}", secrets) == "[redacted]\"}");
  CHECK(redacted("another CdEfGhIjKl", secrets) == "another CdEfGhIjKl");
  CHECK(redacted("GhIjKl", secrets) == "GhIjKl");  // too short to be useful
  CHECK(redacted("training begins", secrets) == "training begins");
}

TEST_CASE("a secret that is interrupted by colours or other control characters is redacted, and then the text has none of them") {
  const std::vector<std::string> secrets{"hf_AbCdEfGhIjKl"};
  for (const auto* written :
       {"hf_Ab\033[31mCdEf\033[0mGhIjKl", "\033[1;32mh\033[0mf_AbCdEfGhIj\aKl", "hf_AbCdEf\033]8;;x\aGhIjKl", "hf_AbCdEfGhIjK\x7fl"})
    CHECK(redacted("\033[1mtoken\033[0m " + std::string(written) + " is wrong", secrets) == "token [redacted] is wrong");
  CHECK(redacted("\033[1mbold\033[0m", secrets) == "\033[1mbold\033[0m");
  CHECK(redacted("https://me:ge\033[31mheim\033[0m@host/", {}) == "https://[redacted]@host/");
}

TEST_CASE("lines of a program show no part of a secret where a line was split, however short it is") {
  const std::string secret = "hf_AbCdEfGhIjKl";
  for (std::size_t before = 1; before < secret.size(); ++before) {
    CAPTURE(before);
    const std::string filler(max_line_length + 1 - before, 'x');
    const auto piece = filler + secret.substr(0, before) + '\n', rest = secret.substr(before) + " and more\nnext\n";
    SplitLine last;
    CHECK(redacted_lines(piece + rest, {secret}, last) == filler + "[redacted]\n[redacted] and more\nnext\n");
    CHECK_FALSE(last.goes_on);
    CHECK(redacted_lines(piece, {secret}, last) == filler + "[redacted]\n");
    CHECK(last.goes_on);
    CHECK(redacted_lines(rest, {secret}, last) == "[redacted] and more\nnext\n");
    CHECK_FALSE(last.goes_on);
  }
}

TEST_CASE("the rest of a secret that only its name told is redacted where a line was split") {
  SplitLine last;
  const auto filler = std::string(max_line_length - 13, 'x') + " password=ab";
  CHECK(redacted_lines(filler + "cd\n", {}, last) == filler + "cd\n");  // which without_written_secrets() redacts
  CHECK(redacted_lines("efgh, and more\nefgh\n", {}, last) == "[redacted], and more\nefgh\n");
}

TEST_CASE("lines of a program lose known secrets only") {
  SplitLine last;
  CHECK(redacted_lines("Bearer abcdefgh hf_AbCdEfGhIjKl\n", {"hf_AbCdEfGhIjKl"}, last) == "Bearer abcdefgh [redacted]\n");
  CHECK(redacted_lines("l hf_AbC\n", {"hf_AbCdEfGhIjKl"}, last) == "l hf_AbC\n");
}

TEST_CASE("words of the messages themselves are not redacted, even if a variable has that value") {
  const std::string text = "the default namespace is required, there is no password";
  CHECK(redacted(text, {"default", "required", "password", "no", "is"}) == text);
  CHECK(redacted("default2", {"default2"}) == "[redacted]");
}

TEST_CASE("values in command lines and code are redacted, names and expressions are not") {
  struct Row {
    const char* text;
    std::vector<std::string> secrets;
  };
  for (const auto& row : {Row{"--token=hunter 22", {"hunter", "hunter 22"}}, Row{"HF_TOKEN=hunter22", {"hunter22", "hunter22"}},
                          Row{"--epochs=3", {}}, Row{"export HF_TOKEN=hunter22\npython train.py", {"hunter22"}}, Row{"login --token $HF_TOKEN", {}},
                          Row{"token = os.environ[\"HF_TOKEN\"]", {}}, Row{"login(token=read(path))", {}},
                          Row{"\nimport hub\nhub.login(token=training, password='hunter', auth=hunter22)", {"hunter", "hunter22"}},
                          Row{"login(token=\"$hunter(22\")", {"$hunter(22"}}}) {
    CAPTURE(row.text);
    CHECK(secrets_in("", row.text) == row.secrets);
  }
}

TEST_CASE("names of secrets are recognised") {
  for (const auto* name : {"password",
                           "API_KEY",
                           "apiKey",
                           "hf_token",
                           "HF_TOKEN",
                           "HF_TOKEN_2",
                           "hfToken",
                           "aws-secret-access-key",
                           "AWS_SECRET_ACCESS_KEY",
                           "db.password",
                           "DB_PASSWD",
                           "GOOGLE_CREDENTIALS",
                           "SSH_KEY",
                           "AZURE_STORAGE_CONNECTION_STRING",
                           "DB_PWD",
                           "client-secret",
                           "github_pat",
                           "GITHUB_PAT",
                           "HFTOKEN",
                           "auth",
                           "bearer",
                           "ssh_key",
                           "HF_TOKENS",
                           "MLFLOW_TRACKING_TOKENS",
                           "access_tokens",
                           "license_key"}) {
    INFO(name);
    CHECK(sounds_secret(name));
  }
  for (const auto* name : {"wandb_key", "openai_key", "s3_key", "minio_key", "awsKey", "kaggle_key", "hf-key", "db_pw", "mlflow_pw", "creds",
                           "aws_creds", "session_cookie", "cookie", "otp", "slack_webhook", "key_of_wandb_key"}) {
    INFO(name);
    CHECK(sounds_secret(name));
  }
  for (const auto* name : {"passcode", "client-key-data", "PWD_DB", "MYSQL_PWD", "HF_TOK", "SAS", "BLOB_SAS", "sas_url", "MNEMONIC", "SEED_PHRASE",
                           "SESSION_ID", "sessionId"}) {
    INFO(name);
    CHECK(sounds_secret(name));
  }
  for (const auto* name : {"image_key", "label_key", "text_key", "primary_key", "dict_key", "pw", "power", "webhook", "s3_keys", "cookies_per_box"}) {
    INFO(name);
    CHECK_FALSE(sounds_secret(name));
  }
  for (const auto* name : {"tokenizer",
                           "TOKENIZERS_PARALLELISM",
                           "key_column",
                           "sort_key",
                           "key",
                           "KEY",
                           "max_tokens",
                           "num_tokens",
                           "max_token",
                           "eos_token",
                           "total_token",
                           "password_length",
                           "secret_size",
                           "password_loss",
                           "tokens",
                           "epochs",
                           "AWS_WEB_IDENTITY_TOKEN_FILE",
                           "MONKEY",
                           "KEYBOARD",
                           "pat",
                           "PATTERN",
                           "PATH",
                           "PWD",
                           "OLDPWD",
                           "tok",
                           "SASS",
                           "session",
                           "",
                           "_",
                           "42"}) {
    INFO(name);
    CHECK_FALSE(sounds_secret(name));
  }
}

TEST_CASE("the value of a variable is secret by its name, or by an address in it") {
  CHECK(holds_secret("HF_TOKEN", "x"));
  CHECK(holds_secret("PIP_INDEX_URL", "https://me:p@host/simple"));
  CHECK(holds_secret("PIP_INDEX_URL", "https://token@host/simple"));
  CHECK_FALSE(holds_secret("PIP_INDEX_URL", "https://host/simple"));
  CHECK_FALSE(holds_secret("HTTPS_PROXY", "http://proxy:3128"));
  CHECK(holds_secret("HTTPS_PROXY", "svc:pw@proxy:3128"));
  CHECK(holds_secret("PIP_EXTRA_INDEX_URL", "u:pw@host.example/simple"));
  CHECK_FALSE(holds_secret("IMAGE", "reg.example/x:1.0@sha256:0a1b"));
}

TEST_CASE("what the parts of a URL stand for is secret, too, as programs decode it") {
  CHECK(secrets_in("DATABASE_URL", "postgres://u:p%40ss%2Fword@h/db") ==
        std::vector<std::string>{"u:p%40ss%2Fword", "u:p@ss/word", "p%40ss%2Fword", "p@ss/word"});
  const auto found = secrets_in("SOME_URL", "https://h/p?x=1&api_key=url%2Bkey+2&y=2");
  for (const auto* secret : {"url%2Bkey+2", "url+key+2", "url+key 2"}) {
    CAPTURE(secret);
    CHECK(std::ranges::find(found, secret) != found.end());
  }
  CHECK(secrets_in("PROXY", "http://me:100%@h").back() == "100%");
  CHECK(redacted("with p@ss/word", secrets_in("DATABASE_URL", "postgres://u:p%40ss%2Fword@h/db")) == "with [redacted]");
}

TEST_CASE("the items of a list are secret if its name is, or if they look like tokens in a list of tokens") {
  CHECK(is_secret_item("api_tokens", "x"));
  CHECK(is_secret_item("tokens", "hf_AbCd1234EfGh"));
  CHECK_FALSE(is_secret_item("tokens", "transformers"));
  CHECK_FALSE(is_secret_item("tokens", "[CLS]"));
  CHECK_FALSE(is_secret_item("max_tokens", "hf_AbCd1234EfGh"));
}

TEST_CASE("the secrets to redact are taken from the environment") {
  CHECK(secrets_of_environment({"AWS_SECRET_ACCESS_KEY=a", "HF_TOKEN=b=c", "PATH=/bin", "DB_PASSWORD=", "broken", "X_PROXY=http://me:pw@h"}) ==
        std::vector<std::string>{"a", "b=c", "", "me:pw", "pw"});
  // Text that says itself what it is.
  CHECK(secrets_in("config", R"({"password": "hunter22", "epochs": 3})") == std::vector<std::string>{"hunter22"});
  CHECK(secrets_in("options", "--token hunter22 --epochs 3") == std::vector<std::string>{"hunter22"});
  CHECK(secrets_in("AUTHORIZATION", "Bearer abcdefgh") == std::vector<std::string>{"Bearer abcdefgh", "abcdefgh"});
  CHECK(secrets_in("REGISTRY_AUTH", "svc:hunter22") == std::vector<std::string>{"svc:hunter22", "hunter22"});
  CHECK(secrets_in("API_TOKENS", "abcdefgh,short,ijklmnop") == std::vector<std::string>{"abcdefgh,short,ijklmnop", "abcdefgh", "ijklmnop"});
  CHECK(secrets_in("TOKEN", "\"abcdefgh\"") == std::vector<std::string>{"\"abcdefgh\"", "abcdefgh"});
  CHECK(secrets_in("PASSWORD", "correct horse battery staple") == std::vector<std::string>{"correct horse battery staple"});
  // A log has lines, and redrawn ones.
  CHECK(secrets_in("TOKEN", "hunter2abc\rSECRETdefg") == std::vector<std::string>{"hunter2abc\rSECRETdefg", "hunter2abc", "SECRETdefg"});
  CHECK(secrets_in("SSH_KEY", "-----BEGIN KEY-----\nc2VjcmV0IG9mIG1pbmU\nshort\n") ==
        std::vector<std::string>{"-----BEGIN KEY-----\nc2VjcmV0IG9mIG1pbmU\nshort\n", "-----BEGIN KEY-----", "c2VjcmV0IG9mIG1pbmU"});
}

TEST_CASE("a secret number is redacted where it is a number of its own") {
  const std::vector<std::string> secrets{"1000000"};
  for (const auto* text : {"rows=1000000", "(1000000)", "x1000000y", "1000000.", "pin 1000000, ok"}) {
    INFO(text);
    CHECK(redacted(text, secrets).find("[redacted]") != std::string::npos);
  }
  for (const auto* text : {"size=210000000", "reward=1000000.5", "0.1000000", "10000001"}) CHECK(redacted(text, secrets) == text);
}
