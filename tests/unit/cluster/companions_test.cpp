// What a job takes with it: made once, owned by it, and what was there before is left alone.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/companions.h"

#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;

namespace {

const Json job = {{"apiVersion", "kubeflow.org/v1"}, {"kind", "PyTorchJob"}, {"metadata", {{"name", "digits-1"}, {"namespace", "ns"}, {"uid", "u"}}}};

struct Making {
  Harness h;
  std::vector<std::string> asked;
  std::vector<Json> created;
  std::optional<Result<void>> result;

  // `there`: whether the API server has it already; `look`, `make`: what it answers otherwise
  void make(std::vector<Companion> companions, Reply look, Reply make) {
    h.server.serve([&](const FakeTransport::Asked& request) {
      asked.push_back(request.request.method + " " + request.request.url.path);
      if (request.request.method == "GET") return look;
      created.push_back(Json::parse(request.request.body));
      return make;
    });
    const Companions all(*h.client, job, std::move(companions), [&](Result<void> made) { result = std::move(made); });
    h.loop.run(1min);
  }
};

Reply made() { return Reply::text("{}", 201); }
Reply absent() { return refusal(404, "NotFound", "not found"); }

}  // namespace

TEST_CASE_METHOD(Making, "a claim that is not there is made, and is the job's") {
  make({claim("scratch", "20Gi", "ReadWriteOnce")}, absent(), made());
  REQUIRE((result && *result));
  REQUIRE(created.size() == 1);
  CHECK(created[0]["spec"]["accessModes"] == Json::array({"ReadWriteOnce"}));
  CHECK(created[0]["spec"]["resources"]["requests"]["storage"] == "20Gi");
  CHECK(created[0]["metadata"]["ownerReferences"] ==
        Json::array({{{"apiVersion", "kubeflow.org/v1"}, {"kind", "PyTorchJob"}, {"name", "digits-1"}, {"uid", "u"}}}));
}

TEST_CASE_METHOD(Making, "a claim that is there stays somebody else's; who may not look leaves it to the pods to tell") {
  const auto answer = GENERATE(Reply::text("{}", 200), refusal(403, "Forbidden", "no"));
  make({claim("scratch", "20Gi", "")}, answer, made());
  REQUIRE((result && *result));
  CHECK(created.empty());
}

TEST_CASE_METHOD(Making, "keys are made without looking first, and found again by the next attempt") {
  const auto answer = GENERATE(made(), refusal(409, "AlreadyExists", "exists"));
  make({secret("digits-1-keys", {{"minio-accesskey", "a"}, {"minio-secretkey", "s"}})}, absent(), answer);
  REQUIRE((result && *result));
  CHECK(asked == std::vector<std::string>{"POST /base/api/v1/namespaces/ns/secrets"});
  CHECK(created[0]["stringData"]["minio-secretkey"] == "s");
}

TEST_CASE_METHOD(Making, "what may not be made is named, and no key is shown") {
  make({secret("digits-1-keys", {{"minio-secretkey", "very-secret"}})}, absent(), refusal(403, "Forbidden", "secrets is forbidden"));
  REQUIRE((result && !*result));
  CHECK(result->error().message.starts_with("digits-1-keys for the job: "));
  CHECK(result->error().message.find("very-secret") == std::string::npos);
}
