// What a job takes with it: made once, owned by it, and what was there before is left alone.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/owned_objects.h"

#include <deque>

#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;

namespace {

const Json job = {{"apiVersion", "kubeflow.org/v1"},
                  {"kind", "PyTorchJob"},
                  {"metadata", {{"name", "digits-1"}, {"namespace", "ns"}, {"uid", "u"}, {"labels", {{"trainstep.dev/run", "run-a"}}}}}};

struct Making {
  Harness h;
  std::vector<std::string> asked;
  std::vector<Json> created;
  std::optional<Result<void>> result;
  std::vector<std::string> told;
  std::vector<Json> patches;
  std::optional<Reply> patched;
  OwnedObjects::Log log = [this](const std::string& what) { told.push_back(what); };

  std::deque<Reply> looks;  // before `look`
  bool conflict = false;    // for the first patch

  // `look`, `make`: what the API server answers
  void make(std::vector<OwnedObject> objects, Reply look, Reply make) {
    h.server.serve([&](const FakeTransport::Asked& request) {
      asked.push_back(request.request.method + " " + request.request.url.path);
      if (request.request.method == "GET" && !looks.empty()) {
        auto first = looks.front();
        looks.pop_front();
        return first;
      }
      if (request.request.method == "GET") return look;
      if (request.request.method == "PATCH") {
        patches.push_back(Json::parse(request.request.body));
        if (patches.size() == 1 && conflict) return refusal(409, "Conflict", "the object has been modified");
        return patched.value_or(look);
      }
      created.push_back(Json::parse(request.request.body));
      return make;
    });
    const OwnedObjects all(*h.client, job, std::move(objects), log, [&](Result<void> made) { result = std::move(made); });
    h.loop.run(1min);
  }
};

Reply made() { return Reply::text("{}", 201); }
Reply no_such(const std::string& name) { return refusal(404, "NotFound", "not found", {{"name", name}}); }
Reply owned_by(const std::string& uid, const std::string& name = "scratch") {
  const auto owners = Json::array({{{"apiVersion", "kubeflow.org/v1"}, {"kind", "PyTorchJob"}, {"name", "digits-1"}, {"uid", uid}}});
  return Reply::text(to_text(Json{{"metadata", {{"name", name}, {"ownerReferences", owners}}}}));
}

}  // namespace

TEST_CASE_METHOD(Making, "a claim that is not there is made, and is the job's") {
  make({claim("scratch", "20Gi", "ReadWriteOnce")}, no_such("scratch"), made());
  REQUIRE((result && *result));
  REQUIRE(created.size() == 1);
  CHECK(created[0]["spec"]["accessModes"] == Json::array({"ReadWriteOnce"}));
  CHECK(created[0]["spec"]["resources"]["requests"]["storage"] == "20Gi");
  CHECK(created[0]["metadata"]["ownerReferences"] ==
        Json::array({{{"apiVersion", "kubeflow.org/v1"}, {"kind", "PyTorchJob"}, {"name", "digits-1"}, {"uid", "u"}}}));
}

TEST_CASE_METHOD(Making, "an existing claim keeps its owners; without read permission the pods will report a missing one") {
  const auto answer = GENERATE(named("scratch"), refusal(403, "Forbidden", "no"));
  make({claim("scratch", "20Gi", "")}, answer, made());
  REQUIRE((result && *result));
  CHECK(created.empty());
}

TEST_CASE_METHOD(Making, "keys are made without looking first, and found again by the next attempt") {
  const bool there = GENERATE(false, true);
  make({secret("digits-1-keys", {{"minio-accesskey", "a"}, {"minio-secretkey", "s"}})}, owned_by("u", "digits-1-keys"),
       there ? refusal(409, "AlreadyExists", "exists") : made());
  REQUIRE((result && *result));
  CHECK(asked.front() == "POST /base/api/v1/namespaces/ns/secrets");
  CHECK(asked.size() == (there ? 2 : 1));
  CHECK(created[0]["stringData"]["minio-secretkey"] == "s");
}

TEST_CASE_METHOD(Making, "an unexpected response to a GET or a create is retried") {
  const auto odd =
      GENERATE(refusal(403, "Forbidden", "User \"step\" cannot"), gateways_404(), Reply::text("<html>bad</html>", 400), Reply::text("", 302));
  int posts = 0, gets = 0;
  const bool keys = GENERATE(true, false);
  h.server.serve([&](const FakeTransport::Asked& request) {
    if (request.request.method == "POST") return keys && ++posts < 4 ? odd : made();
    return ++gets < 4 ? odd : no_such("scratch");
  });
  const OwnedObjects all(*h.client, job, {keys ? secret("digits-1-keys", {{"minio-secretkey", "s"}}) : claim("scratch", "20Gi", "")}, log,
                         [&](Result<void> done) { result = std::move(done); });
  h.loop.run(1min);
  REQUIRE((result && *result));
  CHECK(h.server.asked().back().request.method == "POST");
  CHECK((keys ? posts : gets) == 4);
}

TEST_CASE_METHOD(Making, "what may not be made is named, and no key is shown") {
  make({secret("digits-1-keys", {{"minio-secretkey", "very-secret"}})}, no_such("digits-1-keys"), refusal(403, "Forbidden", "secrets is forbidden"));
  REQUIRE((result && !*result));
  CHECK(result->error().message.starts_with("digits-1-keys for the job: "));
  CHECK(result->error().message.find("very-secret") == std::string::npos);
}

TEST_CASE_METHOD(Making, "objects deleted with the previous job of this name are recreated") {
  SECTION("a claim") {
    looks = {owned_by("before"), owned_by("before"), no_such("scratch")};
    make({claim("scratch", "20Gi", "")}, owned_by("u"), made());
  }
  SECTION("keys") {
    looks = {owned_by("before", "digits-1-keys"), owned_by("before", "digits-1-keys"), no_such("digits-1-keys")};
    int posts = 0;
    h.server.serve([&](const FakeTransport::Asked& request) {
      if (request.request.method == "POST") created.push_back(Json::parse(request.request.body));
      if (request.request.method == "POST") return ++posts == 1 ? refusal(409, "AlreadyExists", "exists") : made();
      auto first = looks.front();
      looks.pop_front();
      return first;
    });
    const OwnedObjects all(*h.client, job, {secret("digits-1-keys", {{"minio-secretkey", "s"}})}, log,
                           [&](Result<void> done) { result = std::move(done); });
    h.loop.run(1min);
  }
  REQUIRE((result && *result));
  CHECK(looks.empty());
  REQUIRE(!created.empty());
  CHECK(created.back()["metadata"]["ownerReferences"][0]["uid"] == "u");
}

TEST_CASE_METHOD(Making, "one of a job before that never goes is named") {
  const OwnedObjects all(*h.client, job, {claim("scratch", "20Gi", "")}, log, [&](Result<void> done) { result = std::move(done); });
  h.server.serve([&](const FakeTransport::Asked&) { return owned_by("before"); });
  h.loop.run(10min);
  REQUIRE((result && !*result));
  CHECK(result->error().message == "scratch for the job: the one of a deleted job still exists");
}

namespace {

// A claim that another run's job has been given.
Json of_another_run() {
  Json shared = {{"metadata", {{"name", "shared"}, {"uid", "c"}, {"resourceVersion", "7"}}}};
  shared["metadata"]["labels"] = {{"app.kubernetes.io/managed-by", "trainstep"}, {"trainstep.dev/run", "run-b"}};
  shared["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "b-1"}, {"uid", "b"}}});
  return shared;
}
Reply shown(const Json& object) { return Reply::text(to_text(object)); }

}  // namespace

TEST_CASE_METHOD(Making, "a claim that was made for another run's job becomes this one's as well") {
  conflict = GENERATE(false, true);
  make({claim("shared", "20Gi", "")}, shown(of_another_run()), made());
  REQUIRE((result && *result));
  REQUIRE(patches.size() == (conflict ? 2 : 1));
  CHECK(patches.back()["metadata"]["resourceVersion"] == "7");
  const auto owners = patches.back()["metadata"]["ownerReferences"];
  REQUIRE(owners.size() == 2);
  CHECK(owners[0]["uid"] == "b");
  CHECK(owners[1]["uid"] == "u");
  CHECK(created.empty());
  CHECK(told.empty());
}

TEST_CASE_METHOD(Making, "missing permission to change such a claim is reported with its owner, and the job runs") {
  patched = refusal(403, "Forbidden", "cannot patch resource");
  make({claim("shared", "20Gi", "")}, shown(of_another_run()), made());
  REQUIRE((result && *result));
  REQUIRE(told.size() == 1);
  CHECK(told[0].find("it is deleted with Job b-1") != std::string::npos);
}

TEST_CASE_METHOD(Making, "a claim kept by a user, or not created here, is never changed") {
  auto theirs = of_another_run();
  theirs["metadata"].erase(GENERATE(as<std::string>(), "labels", "ownerReferences"));
  make({claim("shared", "20Gi", "")}, shown(theirs), made());
  REQUIRE((result && *result));
  CHECK(patches.empty());
}

TEST_CASE_METHOD(Making, "a terminating claim is waited for, and recreated") {
  auto going = of_another_run();
  going["metadata"]["deletionTimestamp"] = "2026-11-21T08:00:00Z";
  looks = {shown(going), shown(going)};
  make({claim("shared", "20Gi", "")}, no_such("shared"), made());
  REQUIRE((result && *result));
  CHECK(patches.empty());
  REQUIRE(created.size() == 1);
  CHECK(created[0]["metadata"]["labels"]["trainstep.dev/run"] == "run-a");
  CHECK(told == std::vector<std::string>{"shared is being deleted: waiting to recreate it"});
}

TEST_CASE_METHOD(Making, "a claim is also owned by the job's owner, which outlives a recreated job") {
  auto of_workflow = job;
  of_workflow["metadata"]["ownerReferences"] =
      Json::array({{{"apiVersion", "argoproj.io/v1alpha1"}, {"kind", "Workflow"}, {"name", "wf"}, {"uid", "w"}}});
  h.server.serve([&](const FakeTransport::Asked& request) {
    if (request.request.method == "GET") return no_such(request.request.url.path.substr(request.request.url.path.rfind('/') + 1));
    created.push_back(Json::parse(request.request.body));
    return made();
  });
  const OwnedObjects all(*h.client, of_workflow, {claim("ckpts", "20Gi", "")}, log, [&](Result<void> done) { result = std::move(done); });
  h.loop.run(1min);
  REQUIRE((result && *result));
  const auto owners = created.at(0)["metadata"]["ownerReferences"];
  REQUIRE(owners.size() == 2);
  CHECK(owners[0]["uid"] == "u");
  CHECK(owners[1]["uid"] == "w");
}
