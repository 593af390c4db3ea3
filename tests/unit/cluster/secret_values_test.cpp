// SPDX-License-Identifier: Apache-2.0
#include "cluster/secret_values.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/redact.h"
#include "data/digest.h"
#include "data/json.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::cluster;
using Catch::Matchers::Contains;

namespace {

Json secret(const std::map<std::string, std::string>& values) {
  Json data = Json::object();
  for (const auto& [key, value] : values) data[key] = encode_base64(value);
  return {{"metadata", {{"name", "training"}}}, {"data", data}};
}

constexpr auto pem = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIBVvZm9vYmFy\nYmFyYmFyYmFyYmFy\n-----END EC PRIVATE KEY-----\n";

}  // namespace

TEST_CASE("tokens, keys and certificates of a Secret are hidden, as text and in base64, places and modes are not") {
  const auto secrets = secrets_of(secret({{"remote-token", "tok-12345678\n"},
                                          {"remote-host", "https://other.example:6443"},
                                          {"remote-ca", pem},
                                          {"remote-namespace", "namespace-of-team"},
                                          {"minio-url", "store.example:9000"},
                                          {"minio-bucket", "bucket-of-team"},
                                          {"minio-job-folder", "folder-of-team"},
                                          {"minio-region", "region-of-team"},
                                          {"minio-accesskey", "AKIA12345678"},
                                          {"minio-secretkey", "sec-12345678"},
                                          {"access-mode", "ReadWriteOnce"},
                                          {"unknown", "unknown-1234"}}));
  for (const std::string shown : {"https://other.example:6443", "namespace-of-team", "store.example:9000", "bucket-of-team", "folder-of-team",
                                  "region-of-team", "ReadWriteOnce"})
    CHECK(redacted(shown, secrets) == shown);
  for (const std::string hidden : {"tok-12345678", "AKIA12345678", "sec-12345678", "unknown-1234", "MHcCAQEEIBVvZm9vYmFy", "YmFyYmFyYmFyYmFy"}) {
    CAPTURE(hidden);
    CHECK(redacted("x " + hidden + " y", secrets) == "x [redacted] y");
    CHECK(redacted("x " + encode_base64(hidden) + " y", secrets) == "x [redacted] y");
  }
  CHECK(redacted(encode_base64("tok-12345678\n"), secrets) == "[redacted]");
}

TEST_CASE("what a kubeconfig in a Secret hides is hidden, its servers and names are not") {
  const auto config = R"(
apiVersion: v1
clusters: [{name: other-cluster, cluster: {server: "https://other.example:6443", certificate-authority-data: )" +
                      encode_base64(pem) + R"(}}]
users:
- name: me-in-the-other
  user: {token: tok-12345678, password: pass-12345678, client-key-data: )" +
                      encode_base64(pem) + R"(, exec: {command: login-command, env: [{name: LOGIN_SECRET, value: env-12345678}]}}
)";
  const auto secrets = secrets_of(secret({{"kubeconfig", config}}));
  for (const std::string hidden : {"tok-12345678", "pass-12345678", "env-12345678", "MHcCAQEEIBVvZm9vYmFy"})
    CHECK(redacted("x " + hidden + " y", secrets) == "x [redacted] y");
  CHECK(redacted(encode_base64(pem), secrets) == "[redacted]");
  for (const std::string shown : {"other-cluster", "https://other.example:6443", "me-in-the-other", "login-command"})
    CHECK(redacted(shown, secrets) == shown);
}

TEST_CASE("a kubeconfig that cannot be read is hidden line by line") {
  const auto secrets = secrets_of(secret({{"kubeconfig", "users: [{\n  token: tok-12345678\n"}}));
  CHECK_THAT(redacted("line 2: token: tok-12345678", secrets), !Contains("tok-12345678"));
}
