// SPDX-License-Identifier: Apache-2.0
#include "cluster/keys_copy.h"

#include <memory>
#include <string>
#include <vector>

#include "data/digest.h"
#include "objectstore/signing_keys.h"
#include "plan/task.h"
#include "support/catch.h"
#include "unit/cluster/session_support.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;

namespace {

// The copy "train-keys" of the keys in Secret "gpu"; both clusters are behind one server.
struct Copy {
  Harness h;
  KeysCopy copy{"train-keys", false, {"us-east-1"}, 1};
  std::string access_key = "who", secret_key = "secret-of-the-bucket", log;
  Reply answer = named("train-keys");  // to a patch
  bool readable = true;
  std::vector<Json> patches;
  std::vector<Time> read;
  std::unique_ptr<KeysRenewal> renewal;

  void begin(bool adopted) {
    h.server.serve([this](const FakeTransport::Asked& asked) {
      if (asked.request.method == "PATCH") {
        CHECK(asked.request.url.path == "/base/api/v1/namespaces/there/secrets/train-keys");
        patches.push_back(Json::parse(asked.request.body));
        return answer;
      }
      CHECK(asked.line() == "GET /base/api/v1/namespaces/here/secrets/gpu");
      read.push_back(asked.at);
      if (!readable) return refusal(403, "Forbidden", "no");
      return trainstep::test::secret("gpu", {{"minio-accesskey", access_key}, {"minio-secretkey", secret_key}});
    });
    const objectstore::Credentials keys{access_key, secret_key};
    renewal = std::make_unique<KeysRenewal>(*h.client, KeysRenewal::Job{"there", "uid-of-job", adopted},
                                            KeysRenewal::Source{*h.client, "here", {"gpu", "minio-accesskey", "minio-secretkey"}, keys, copy},
                                            [this](const std::string& line) { log += line + "\n"; });
  }
  void pass(Duration time) {
    const auto timer = h.loop.timer(time, [] {});
    h.loop.run(time);
  }
  // What the copy has after the last patch.
  [[nodiscard]] std::string value(const std::string& key) const {
    for (const auto& operation : patches.back())
      if (operation["path"] == "/data/" + key) return decode_base64(operation["value"].get<std::string>()).value();
    return "(none)";
  }
  [[nodiscard]] std::string last_day() const { return objectstore::read_signing_keys(value("signing-keys"), "copy").value().rbegin()->first; }
};

}  // namespace

TEST_CASE("pods in another cluster get signing keys for some days, and the secret key itself only if that is wished") {
  const objectstore::Credentials keys{"who", "secret-of-the-bucket"};
  const auto now = from_rfc3339("2026-03-01T10:00:00Z").value();
  const auto usual = KeysCopy{"c", false, {"us-east-1", "eu-1"}, 1}.contents(keys, now);
  REQUIRE(usual.size() == 2);
  CHECK(usual.at("minio-accesskey") == "who");
  const auto made = objectstore::read_signing_keys(usual.at("signing-keys"), "copy").value();
  std::vector<std::string> scopes;
  for (const auto& [scope, key] : made) scopes.push_back(scope);
  CHECK(scopes == std::vector<std::string>{"20260228/eu-1", "20260228/us-east-1", "20260301/eu-1", "20260301/us-east-1", "20260302/eu-1",
                                           "20260302/us-east-1"});
  CHECK(KeysCopy{"c", true, {"us-east-1"}, 1}.contents(keys, now) ==
        std::map<std::string, std::string>{{"minio-accesskey", "who"}, {"minio-secretkey", "secret-of-the-bucket"}});
}

TEST_CASE("signing keys are for the days of the store's clock") {
  KeysCopy copy{"c", false, {"us-east-1"}, 1};
  copy.clock = 72h;
  const auto made = copy.contents({"who", "secret-of-the-bucket"}, from_rfc3339("2026-03-01T10:00:00Z").value()).at("signing-keys");
  CHECK(objectstore::read_signing_keys(made, "copy").value().begin()->first == "20260303/us-east-1");
}

TEST_CASE("signing keys last a day longer than the lease of the job, but at most a week") {
  CHECK(days_ahead(0s) == 1);
  CHECK(days_ahead(30min) == 1);
  CHECK(days_ahead(24h) == 2);
  CHECK(days_ahead(71h) == 3);
  CHECK(days_ahead(24h * 365) == 7);
}

TEST_CASE("the pods of an earlier attempt's job get their keys in the form in which they read them") {
  const KeysCopy usual{"train-keys", false, {"us-east-1"}, 1}, whole{"train-keys", true, {"us-east-1"}, 1};
  const auto job = [](const char* key, const char* path) {
    plan::Task task;
    task.job = "train";
    task.record = {"s3://bkt/jobs/train/finished.json", 0, ""};
    task.stores.push_back({.endpoint = "http://store:9000", .ca_file = {}, .access_key_file = "/f", .secret_key_file = {}});
    Json object;
    object["spec"]["env"] = Json::array({{{"name", std::string(plan::task_variable)}, {"value", to_text(plan::to_json(task))}}});
    const Json items = {{{"key", "minio-accesskey"}, {"path", "access_key"}}, {{"key", key}, {"path", path}}};
    object["spec"]["volumes"] = Json::array({{{"name", "trainstep-keys-0"}, {"secret", {{"secretName", "train-keys"}, {"items", items}}}}});
    return object;
  };
  for (const auto& copy : {usual, whole}) {
    CHECK_FALSE(as_in_job(copy, job("signing-keys", "signing_keys"))->whole);
    CHECK(as_in_job(copy, Json::object())->whole == copy.whole);
  }
  CHECK(as_in_job(whole, job("minio-secretkey", "secret_key"))->whole);
  CHECK_FALSE(as_in_job(usual, job("minio-secretkey", "secret_key")));  // a new secret key is not given away any more
}

TEST_CASE_METHOD(Copy, "the copy of a job that was just created is written once, and when another day has begun, only if the job owns it") {
  begin(false);
  CHECK(patches.empty());
  const auto day = 24h - (h.loop.now().time_since_epoch() % 24h);
  pass(std::chrono::duration_cast<Duration>(day) - 1min);
  CHECK(patches.size() == 1);
  pass(7min);
  REQUIRE(patches.size() == 2);
  CHECK(patches.front()[0] == Json::parse(R"({"op": "test", "path": "/metadata/ownerReferences/0/uid", "value": "uid-of-job"})"));
  CHECK(value("minio-accesskey") == "who");
  CHECK(last_day() == objectstore::signing_scope("us-east-1", h.loop.now() + 24h));
  CHECK(to_text(patches.front()).find(encode_base64(secret_key)) == std::string::npos);
  pass(20h);
  CHECK(patches.size() == 2);
  for (std::size_t i = 1; i < read.size(); ++i) CHECK(read[i] - read[i - 1] >= 290s);
  CHECK(log.empty());
}

TEST_CASE_METHOD(Copy, "the copy of a job that an earlier attempt has created is renewed at once") {
  begin(true);
  pass(1s);
  CHECK(patches.size() == 1);
}

TEST_CASE_METHOD(Copy, "keys that are replaced in their Secret reach the pods within five minutes") {
  copy.whole = GENERATE(false, true);
  begin(false);
  pass(1min);
  access_key = "another", secret_key = "other-secret";
  pass(5min);
  REQUIRE(patches.size() == 2);
  CHECK(value("minio-accesskey") == "another");
  CHECK(value("minio-secretkey") == (copy.whole ? "other-secret" : "(none)"));
  if (!copy.whole) CHECK(value("signing-keys") == KeysCopy(copy).contents({"another", "other-secret"}, h.loop.now()).at("signing-keys"));
}

TEST_CASE_METHOD(Copy, "a Secret that can no longer be read keeps no signing key from being renewed") {
  readable = false;
  begin(false);
  pass(25h);
  CHECK(patches.size() >= 2);
  CHECK(log.empty());
}

TEST_CASE_METHOD(Copy, "a copy that cannot be changed is reported once, and tried again") {
  answer = refusal(403, "Forbidden", "secrets \"train-keys\" is forbidden");
  begin(true);
  pass(2min);
  const auto first = patches.size();
  pass(5min);
  const auto second = patches.size();
  CHECK(second > first);
  CHECK(log.find("cannot renew the keys of the job's pods to their bucket, which expire in less than 2 days; trying again every five minutes: ") ==
        0);
  CHECK(std::ranges::count(log, '\n') == 1);
  answer = named("train-keys");
  pass(5min);
  CHECK(patches.size() == second + 1);
  CHECK(log.ends_with("the keys of the job's pods to their bucket are renewed again\n"));
  pass(2h);
  CHECK(patches.size() == second + 1);
}

TEST_CASE_METHOD(Copy, "a Secret of that name that the job does not own is reported, and left unchanged") {
  answer = refusal(422, "Invalid", "the server rejected our request due to an error in our request");
  begin(false);
  pass(1min);
  CHECK(log ==
        "Secret train-keys in namespace there does not belong to this job: its pods may have other keys to their bucket; delete it, and run the step "
        "again\n");
}
