// The report of a failed step on its way to KFP's object store.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/report_upload.h"

#include <optional>
#include <string>
#include <vector>

#include "data/digest.h"
#include "kube/token_source.h"
#include "support/catch.h"
#include "unit/kube/harness.h"
#include "unit/objectstore/fake_store.h"

using namespace trainstep;
using namespace trainstep::cluster;
using Catch::Matchers::Contains;
using trainstep::test::FakeTransport;
using trainstep::test::Reply;

namespace {

constexpr auto address = "minio://bkt/run/train/report";

struct Failed : objectstore::test::FakeStore {
  FakeTransport api{loop};
  std::optional<Reply> configuration, secret;  // instead of what the API server has
  std::map<std::string, std::string> environment;
  std::unique_ptr<kube::Client> home;
  std::unique_ptr<ReportUpload> upload;
  std::optional<Result<void>> result;

  Failed() {
    auto credentials = std::make_shared<kube::Credentials>();
    credentials->server = {"https", "api", 6443, "", {}};
    credentials->token = kube::fixed_token("t");
    home = std::make_unique<kube::Client>(loop, api, std::move(credentials), 1);
    api.serve([this](const FakeTransport::Asked& asked) {
      if (asked.line() == "GET /api/v1/namespaces/team-a/configmaps/kfp-launcher") return configuration.value_or(kube::test::absent("kfp-launcher"));
      CHECK(asked.line() == "GET /api/v1/namespaces/team-a/secrets/mlpipeline-minio-artifact");
      const Json keys{{"accesskey", encode_base64("key-of-team")}, {"secretkey", encode_base64("secret-of-team")}};
      return secret.value_or(Reply::text(to_text({{"metadata", {{"name", "mlpipeline-minio-artifact"}}}, {"data", keys}})));
    });
  }
  Result<void> put() {
    upload = std::make_unique<ReportUpload>(ReportUpload::Context{*home, transport, "team-a", environment, 1}, address, "<html>",
                                            [this](Result<void> done) {
                                              REQUIRE_FALSE(result);
                                              result = std::move(done);
                                              upload.reset();
                                            });
    CHECK_FALSE(result);
    loop.run();
    REQUIRE(result);
    return *result;
  }
};

}  // namespace

TEST_CASE_METHOD(Failed, "a report is put at its address by the keys of the namespace") {
  REQUIRE(put());
  CHECK(objects["run/train/report"] == "<html>");
  REQUIRE(transport.asked().size() == 1);
  const auto& asked = transport.asked()[0];
  CHECK_THAT(asked.header("Authorization"), Contains("Credential=key-of-team/"));
  CHECK_THAT(asked.header("Content-Type"), Contains("text/html"));
}

TEST_CASE_METHOD(Failed, "a report's store is the one that KFP's configuration names") {
  configuration = Reply::text(
      to_text({{"metadata", {{"name", "kfp-launcher"}}}, {"data", {{"providers", "minio: {default: {endpoint: other:9001, disableSSL: true}}"}}}}));
  environment = {{"AWS_ACCESS_KEY_ID", "key-here"}, {"AWS_SECRET_ACCESS_KEY", "secret"}};
  REQUIRE(put());
  CHECK(transport.asked()[0].request.url.host == "other");
  CHECK_THAT(transport.asked()[0].header("Authorization"), Contains("Credential=key-here/"));
}

TEST_CASE_METHOD(Failed, "a report is not uploaded without permission, and the reason is reported") {
  SECTION("the keys may not be read") {
    secret = kube::test::refusal(403, "Forbidden", "secrets is forbidden");
    const auto done = put();
    REQUIRE_FALSE(done);
    CHECK_THAT(done.error().message, Contains("credentials of the object store") && Contains("forbidden"));
  }
  SECTION("the store does not take them") {
    fault = [](const auto&) { return std::optional(refusal(403, "AccessDenied")); };
    const auto done = put();
    REQUIRE_FALSE(done);
    CHECK_THAT(done.error().message, Contains("AccessDenied"));
  }
}

TEST_CASE_METHOD(Failed, "uploading a report is limited in time") {
  const auto began = loop.now();
  SECTION("when the store is silent") {
    fault = [](const auto&) { return std::optional(Reply::silent()); };
  }
  SECTION("when the store always fails") {
    fault = [](const auto&) { return std::optional(refusal(503, "SlowDown")); };
  }
  SECTION("when the API server always fails") { secret = kube::test::refusal(503, "ServiceUnavailable", "away"); }
  CHECK_FALSE(put());
  CHECK(loop.now() - began <= std::chrono::seconds(15));
}

TEST_CASE_METHOD(Failed, "a cancelled report upload reports nothing") {
  upload = std::make_unique<ReportUpload>(ReportUpload::Context{*home, transport, "team-a", environment, 1}, address, "<html>",
                                          [this](Result<void> done) { result = std::move(done); });
  upload.reset();
  loop.run();
  CHECK_FALSE(result);
  CHECK(objects.empty());
}
