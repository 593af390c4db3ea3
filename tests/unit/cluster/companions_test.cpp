// What a job takes with it: made once, owned by it, and what was there before is left alone.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/companions.h"

#include <deque>

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

  std::deque<Reply> looks;  // before `look`

  // `look`, `make`: what the API server answers
  void make(std::vector<Companion> companions, Reply look, Reply make) {
    h.server.serve([&](const FakeTransport::Asked& request) {
      asked.push_back(request.request.method + " " + request.request.url.path);
      if (request.request.method == "GET" && !looks.empty()) {
        auto first = looks.front();
        looks.pop_front();
        return first;
      }
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
Reply owned_by(const std::string& uid) {
  const auto owners = Json::array({{{"apiVersion", "kubeflow.org/v1"}, {"kind", "PyTorchJob"}, {"name", "digits-1"}, {"uid", uid}}});
  return Reply::text(to_text(Json{{"metadata", {{"ownerReferences", owners}}}}));
}

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
  const bool there = GENERATE(false, true);
  make({secret("digits-1-keys", {{"minio-accesskey", "a"}, {"minio-secretkey", "s"}})}, owned_by("u"),
       there ? refusal(409, "AlreadyExists", "exists") : made());
  REQUIRE((result && *result));
  CHECK(asked.front() == "POST /base/api/v1/namespaces/ns/secrets");
  CHECK(asked.size() == (there ? 2 : 1));
  CHECK(created[0]["stringData"]["minio-secretkey"] == "s");
}

TEST_CASE_METHOD(Making, "what may not be made is named, and no key is shown") {
  make({secret("digits-1-keys", {{"minio-secretkey", "very-secret"}})}, absent(), refusal(403, "Forbidden", "secrets is forbidden"));
  REQUIRE((result && !*result));
  CHECK(result->error().message.starts_with("digits-1-keys for the job: "));
  CHECK(result->error().message.find("very-secret") == std::string::npos);
}

TEST_CASE_METHOD(Making, "what the job before of this name has taken with it goes with that one, and is made anew") {
  looks = {owned_by("before"), owned_by("before"), absent()};
  SECTION("a claim") { make({claim("scratch", "20Gi", "")}, owned_by("u"), made()); }
  SECTION("keys") {
    int posts = 0;
    h.server.serve([&](const FakeTransport::Asked& request) {
      if (request.request.method == "POST") created.push_back(Json::parse(request.request.body));
      if (request.request.method == "POST") return ++posts == 1 ? refusal(409, "AlreadyExists", "exists") : made();
      auto first = looks.front();
      looks.pop_front();
      return first;
    });
    const Companions all(*h.client, job, {secret("digits-1-keys", {{"minio-secretkey", "s"}})}, [&](Result<void> done) { result = std::move(done); });
    h.loop.run(1min);
  }
  REQUIRE((result && *result));
  CHECK(looks.empty());
  REQUIRE(!created.empty());
  CHECK(created.back()["metadata"]["ownerReferences"][0]["uid"] == "u");
}

TEST_CASE_METHOD(Making, "one of a job before that never goes is named") {
  const Companions all(*h.client, job, {claim("scratch", "20Gi", "")}, [&](Result<void> done) { result = std::move(done); });
  h.server.serve([&](const FakeTransport::Asked&) { return owned_by("before"); });
  h.loop.run(10min);
  REQUIRE((result && !*result));
  CHECK(result->error().message == "scratch for the job: one of a job that is gone is still there");
}
