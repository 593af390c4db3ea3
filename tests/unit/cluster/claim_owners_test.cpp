// A claim created for jobs is deleted with the last job that uses it, and other claims are never changed.
#include "cluster/claim_owners.h"

#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;

namespace {

Json owner(const std::string& kind, const std::string& name, const std::string& uid) {
  const auto* group = kind == "Workflow" ? "argoproj.io/v1alpha1" : "batch/v1";
  return {{"apiVersion", group}, {"kind", kind}, {"name", name}, {"uid", uid}};
}
const Json workflow = owner("Workflow", "wf", "w");
Json job_ref(const std::string& name, const std::string& uid) { return owner("Job", name, uid); }

Json job(const std::string& name, const std::string& uid, bool of_workflow = true) {
  Json object = {{"apiVersion", "batch/v1"},
                 {"kind", "Job"},
                 {"metadata", {{"name", name}, {"namespace", "ns"}, {"uid", uid}, {"labels", {{"trainstep.dev/run", "run-a"}}}}}};
  if (of_workflow) {
    object["metadata"]["ownerReferences"] = Json::array({workflow});
    object["metadata"]["ownerReferences"][0]["controller"] = true;
    object["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = true;
  }
  return object;
}
Json claim_of(const Json& owners, const std::string& run = "run-a") {
  Json object = {{"metadata", {{"name", "ckpts"}, {"uid", "c"}, {"resourceVersion", "7"}}}};
  object["metadata"]["labels"] = {{"app.kubernetes.io/managed-by", "trainstep"}, {"trainstep.dev/run", run}};
  if (!owners.empty()) object["metadata"]["ownerReferences"] = owners;
  return object;
}
Json list(std::initializer_list<Json> owners) { return Json::array_t(owners); }
Json now(const Json& owners) { return {{"ownerReferences", owners}}; }

}  // namespace

TEST_CASE("only claims with our label are made for jobs, and of those without an owner only this run's") {
  CHECK(is_made_for_jobs(claim_of(list({job_ref("a", "1")}), "another"), "run-a"));
  CHECK(is_made_for_jobs(claim_of(list({})), "run-a"));
  CHECK_FALSE(is_made_for_jobs(claim_of(list({}), "another"), "run-a"));  // its owners were removed to keep it
  auto unlabelled = claim_of(list({job_ref("a", "1")}));
  unlabelled["metadata"].erase("labels");
  CHECK_FALSE(is_made_for_jobs(unlabelled, "run-a"));
  for (const auto* odd : {"null", "3", "{}", R"({"metadata": {"labels": 3, "ownerReferences": {}}})"})
    CHECK_FALSE(is_made_for_jobs(Json::parse(odd), ""));
}

TEST_CASE("a job that uses a claim is added to its owners, as is the owner of the job, each once") {
  const auto b = job("b", "2");
  const auto ref = job_ref("b", "2");
  const auto other = job_ref("a", "1");
  CHECK(joined(claim_of(list({other})), b) == now(list({other, ref, workflow})));
  CHECK(joined(claim_of(list({other, workflow})), b) == now(list({other, workflow, ref})));
  CHECK(joined(claim_of(list({})), job("b", "2", false)) == now(list({ref})));
  CHECK(joined(claim_of(list({workflow, ref, other})), b).is_null());
  CHECK(joined(claim_of(list({job_ref("b", "before"), workflow})), b) == now(list({workflow, ref})));
}

TEST_CASE("the claim of a recreated job belongs to the new job's owners, or to nothing in between") {
  const auto labels = claim_labels("run-a");
  const auto own = job_ref("a", "1");
  const auto other = job_ref("b", "2");
  const auto new_owners = list({workflow});
  CHECK(handed_on(claim_of(list({own, workflow})), "1", new_owners, "run-a").is_null());  // it stays as it is
  CHECK(handed_on(claim_of(list({own})), "1", new_owners, "run-a") == Json{{"ownerReferences", new_owners}, {"labels", labels}});
  CHECK(handed_on(claim_of(list({own, other})), "1", list({}), "run-a") == Json{{"ownerReferences", list({other})}, {"labels", labels}});
  CHECK(handed_on(claim_of(list({own})), "1", list({}), "run-a") == Json{{"ownerReferences", list({})}, {"labels", labels}});
  CHECK(handed_on(claim_of(list({other})), "1", list({}), "run-a").is_null());
  CHECK(handed_on(claim_of(list({})), "1", new_owners, "run-a").is_null());
  CHECK(labels == Json{{"app.kubernetes.io/managed-by", "trainstep"}, {"trainstep.dev/run", "run-a"}});
}

TEST_CASE("the claim of a job that is not followed is deleted with it, unless another job uses it") {
  const auto a = job("a", "1");
  const auto own = job_ref("a", "1");
  CHECK(released(claim_of(list({own, workflow})), a) == now(list({own})));
  CHECK(released(claim_of(list({workflow})), a) == now(list({own})));  // the garbage collector has taken the job away already: it comes again
  CHECK(released(claim_of(list({own, workflow, job_ref("b", "2")})), a).is_null());
  CHECK(released(claim_of(list({own})), a).is_null());
  CHECK(released(claim_of(list({})), a).is_null());
}

namespace {

struct Changing {
  Harness h;
  std::deque<Reply> answers;
  std::vector<std::string> asked;
  std::vector<Json> patches;
  bool done = false;
  std::optional<kube::ApiError> problem;

  void change() {
    h.server.serve([this](const FakeTransport::Asked& request) {
      asked.push_back(request.request.method);
      if (request.request.method == "PATCH") patches.push_back(Json::parse(request.request.body));
      auto first = answers.front();
      if (answers.size() > 1) answers.pop_front();
      return first;
    });
    const auto to_nobody = [](const Json& claim) { return is_made_for_jobs(claim, "run-a") ? now(Json::array()) : Json(); };
    const ClaimChange all(*h.client, {"v1", "persistentvolumeclaims", "ns", "ckpts", ""}, {30s}, to_nobody, [&](std::optional<kube::ApiError> why) {
      done = true;
      problem = std::move(why);
    });
    h.loop.run(1min);
  }
};

Reply shown(const Json& object) { return Reply::text(to_text(object)); }

}  // namespace

TEST_CASE_METHOD(Changing, "a claim is changed as it was seen, and seen again where it has changed meanwhile") {
  auto newer = claim_of(list({job_ref("a", "1")}));
  newer["metadata"]["resourceVersion"] = "8";
  answers = {shown(claim_of(list({job_ref("a", "1")}))), refusal(409, "Conflict", "the object has been modified"), shown(newer), shown(newer)};
  change();
  CHECK(asked == std::vector<std::string>{"GET", "PATCH", "GET", "PATCH"});
  CHECK(patches.front() == Json{{"metadata", {{"ownerReferences", Json::array()}, {"uid", "c"}, {"resourceVersion", "7"}}}});
  CHECK(patches.back()["metadata"]["resourceVersion"] == "8");
  CHECK((done && !problem));
}

TEST_CASE_METHOD(Changing, "a claim that is missing, hidden, terminating or not ours is left unchanged") {
  auto going = claim_of(list({job_ref("a", "1")}));
  going["metadata"]["deletionTimestamp"] = "2026-11-21T08:00:00Z";
  answers = {GENERATE_REF(refusal(404, "NotFound", "not found"), refusal(403, "Forbidden", "no"), shown(going), named("ckpts"))};
  change();
  CHECK(asked == std::vector<std::string>{"GET"});
  CHECK((done && !problem));
}

TEST_CASE_METHOD(Changing, "missing permission to change a claim is reported") {
  answers = {shown(claim_of(list({job_ref("a", "1")}))), refusal(403, "Forbidden", "cannot patch")};
  change();
  REQUIRE((done && problem));
  CHECK(problem->error.kind != ErrorKind::unavailable);
}
