// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cluster/backend.h"
#include "cluster/keep_deadline.h"
#include "follow/reasons.h"
#include "support/catch.h"
#include "unit/job_types/example.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;

namespace {

Json job(const std::string& uid, const std::string& version, const std::string& condition = "") {
  Json object = {
      {"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", {{"name", "digits-0123456789"}, {"uid", uid}, {"resourceVersion", version}}}};
  if (!condition.empty()) object["status"]["conditions"] = Json::array({{{"type", condition}, {"status", "True"}}});
  return object;
}

// A job that is followed; what is asked of it once it is to be removed is answered by `answers`, in order.
struct Removal {
  Harness h;
  plan::Plan plan = job_types::test::example("Job", 1);
  Facts facts;
  std::deque<Reply> answers;
  Reply claim = Reply::silent();
  std::vector<Json> patches;  // of it
  std::vector<std::string> asked, told;
  int gone = 0, followed = 0, spared = 0;
  std::optional<Error> failed;
  Time begun, failed_at;
  Json found = job("u", "5");
  std::function<void()> meanwhile = [] {};  // before the removal
  std::unique_ptr<ClusterBackend> backend;

  void belongs_to_a_workflow() { facts.workflow = Workflow{"argoproj.io/v1alpha1", "wf", "w"}; }

  void watch() {
    h.server.serve([this](const FakeTransport::Asked& request) {
      if (request.request.url.path.ends_with("/persistentvolumeclaims/ckpts")) {
        if (request.request.method == "PATCH") patches.push_back(Json::parse(request.request.body));
        return claim;
      }
      if (!request.request.url.path.ends_with(plan.job_name)) return Reply::silent();
      auto line = request.request.method;
      if (!request.request.body.empty()) line += " " + to_text(Json::parse(request.request.body).at("preconditions"));
      asked.push_back(line);
      if (answers.empty()) return Reply::silent();
      auto answer = std::move(answers.front());
      answers.pop_front();
      return answer;
    });
    const auto resource = job_types::find("Job").resources.front();
    backend = std::make_unique<ClusterBackend>(*h.client, plan, facts, "ns", "attempt", Submitted{resource, found, true});
    backend->prepare([this](const follow::Event& event) {
      if (const auto* line = std::get_if<follow::BackendMessage>(&event.what)) told.push_back(line->text);
      if (std::holds_alternative<follow::JobGone>(event.what)) ++gone;
      if (std::holds_alternative<follow::JobFollowed>(event.what)) ++followed;
      if (const auto* job = std::get_if<follow::JobSucceededFirst>(&event.what))
        spared += job->judgement.state == job_types::Judgement::State::succeeded ? 1 : 0;
      if (const auto* problem = std::get_if<follow::BackendFailed>(&event.what)) failed = problem->error, failed_at = h.loop.now();
    });
    h.loop.run(1s);
  }
  void remove(bool at_once, bool unless_succeeded = false) {
    watch();
    meanwhile();
    begun = h.loop.now();
    backend->remove_job({at_once, unless_succeeded});
    h.loop.run(2min);
  }
};

const std::string at_version_5 = R"(DELETE {"uid":"u","resourceVersion":"5"})";
const std::string at_version_6 = R"(DELETE {"uid":"u","resourceVersion":"6"})";
const std::string whatever_version = R"(DELETE {"uid":"u"})";
Reply conflict() { return refusal(409, "Conflict", "Precondition failed"); }
Reply ok(const Json& object) { return Reply::text(to_text(object)); }
Json followed_by(const std::string& who, const std::string& version, const std::string& creating_attempt = "first") {
  auto object = job("u", version);
  object["metadata"]["annotations"] = {{"trainstep.dev/created-by", creating_attempt}, {"trainstep.dev/followed-by", who}};
  return object;
}
using Words = std::vector<std::string>;

}  // namespace

TEST_CASE_METHOD(Removal, "a job is deleted as it was seen") {
  answers = {ok(job("u", "5"))};
  remove(false);
  CHECK(asked == Words{at_version_5});
  CHECK(gone == 1);
}

TEST_CASE_METHOD(Removal, "a job that has succeeded before the DELETE came is left to its Workflow") {
  belongs_to_a_workflow();
  answers = {conflict(), ok(job("u", "6", "Complete"))};
  remove(false);
  CHECK(asked == Words{at_version_5, "GET"});
  CHECK(told.back() == "the job has succeeded in the meantime; leaving it to its workflow");
  CHECK(gone == 1);
}

TEST_CASE_METHOD(Removal, "a job whose success counts is not deleted once it has succeeded, with a Workflow or without") {
  if (GENERATE(false, true)) belongs_to_a_workflow();
  plan.options.cleanup = GENERATE("default", "always");
  answers = {conflict(), ok(job("u", "6", "Complete"))};
  remove(false, true);
  CHECK(asked == Words{at_version_5, "GET"});
  CHECK(spared == 1);
  CHECK(gone == 0);
}

TEST_CASE_METHOD(Removal, "a job whose success would count is deleted as long as it has none") {
  answers = {conflict(), ok(job("u", "6")), ok(job("u", "6"))};
  remove(false, true);
  CHECK(asked == Words{at_version_5, "GET", at_version_6});
  CHECK(spared == 0);
  CHECK(gone == 1);
}

TEST_CASE_METHOD(Removal, "without a Workflow, or without success, the job is deleted in its current state") {
  std::string condition = "Complete";
  SECTION("no Workflow") {}
  SECTION("it has failed") {
    belongs_to_a_workflow();
    condition = "Failed";
  }
  SECTION("job_options.cleanup: always") {
    belongs_to_a_workflow();
    plan.options.cleanup = "always";
  }
  answers = {conflict(), ok(job("u", "6", condition)), ok(job("u", "6"))};
  remove(false);
  CHECK(asked == Words{at_version_5, "GET", at_version_6});
  CHECK(gone == 1);
}

TEST_CASE_METHOD(Removal, "a cancel deletes whatever has become of the job") {
  belongs_to_a_workflow();
  answers = {ok(job("u", "5"))};
  remove(true);
  CHECK(asked == Words{at_version_5});
  CHECK(gone == 1);
}

TEST_CASE_METHOD(Removal, "a job adopted by another attempt is left to it, unless the run is cancelled") {
  SECTION("it has changed since: its version differs") {
    answers = {conflict(), ok(followed_by("another", "6"))};
    remove(false);
    CHECK(asked == Words{at_version_5, "GET"});
  }
  SECTION("while it changes all the time") {
    answers = {conflict(), ok(job("u", "6")), conflict(), ok(followed_by("another", "7"))};
    remove(false);
    CHECK(asked == Words{at_version_5, "GET", at_version_6, "GET"});
  }
  SECTION("while the DELETE was held up") {
    answers = {Reply::silent(), ok(followed_by("another", "6"))};
    remove(false);
    CHECK(asked == Words{at_version_5, "GET"});
  }
  SECTION("as was seen before") {
    answers = {ok(followed_by("another", "6"))};
    meanwhile = [this] {
      backend->refresh();
      h.loop.run(1s);
    };
    remove(false);
    CHECK(asked == Words{"GET"});
  }
  SECTION("the run is cancelled") {
    answers = {conflict(), ok(followed_by("another", "6")), ok(job("u", "7"))};
    remove(true);
    CHECK(asked == Words{at_version_5, "GET", at_version_6});
    CHECK(gone == 1);
    return;
  }
  CHECK(followed == 1);
  CHECK(gone == 0);
  CHECK_FALSE(failed);
  CHECK(told.back() == "another attempt of this step is following the job; leaving it unchanged");
  h.loop.run(5min);
  CHECK(asked.back() == "GET");
}

TEST_CASE_METHOD(Removal, "an earlier follower, or the current one, is not another attempt") {
  const std::string before = GENERATE("before", "attempt");
  found = followed_by(before, "5");
  answers = {conflict(), ok(followed_by(GENERATE("before", "attempt"), "6")), ok(job("u", "7"))};
  if (before == "attempt") answers[1] = ok(followed_by("attempt", "6"));
  remove(false);
  CHECK(asked == Words{at_version_5, "GET", at_version_6});
  CHECK(gone == 1);
  CHECK(followed == 0);
}

TEST_CASE_METHOD(Removal, "a job annotated by a later attempt is left to it, even if an old event reports a cancel") {
  facts.began = from_rfc3339("2026-03-01T10:00:00Z");
  const bool later = GENERATE(true, false), cancelled = GENERATE(true, false);
  found = followed_by("another", "5");
  found["metadata"]["annotations"]["trainstep.dev/attempt-began"] = later ? "2026-03-01T10:00:01Z" : "2026-03-01T09:00:00Z";
  answers = {ok(found), ok(found)};
  meanwhile = [this] {
    backend->refresh();
    h.loop.run(1s);
    asked.clear();
  };
  remove(cancelled);
  CAPTURE(later, cancelled);
  CHECK(asked == (later ? Words{} : Words{at_version_5}));
  CHECK(followed == (later ? 1 : 0));
}

TEST_CASE_METHOD(Removal, "a cancel reported late detects that a later attempt follows the job") {
  facts.began = from_rfc3339("2026-03-01T10:00:00Z");
  auto now = followed_by("another", "6");
  now["metadata"]["annotations"]["trainstep.dev/attempt-began"] = "2026-03-01T10:00:01Z";
  answers = {conflict(), ok(now)};
  remove(true);
  CHECK(asked == Words{at_version_5, "GET"});
  CHECK(followed == 1);
  CHECK(gone == 0);
}

TEST_CASE_METHOD(Removal, "an attempt does not follow the job of a later attempt, and may be stopped at that moment") {
  facts.began = from_rfc3339("2026-03-01T10:00:00Z");
  found["metadata"]["annotations"]["trainstep.dev/attempt-began"] = "2026-03-01T10:00:01Z";
  bool told_to_end = false, kept = false;
  SECTION("and is deleted") {}
  SECTION("and is asked to stop") { told_to_end = true; }
  h.server.serve([this](const FakeTransport::Asked& request) {
    asked.push_back(request.request.method);
    return Reply::silent();
  });
  const auto resource = job_types::find("Job").resources.front();
  backend = std::make_unique<ClusterBackend>(*h.client, plan, facts, "ns", "attempt", Submitted{resource, found, true, std::nullopt, true});
  backend->prepare([&](const follow::Event& event) {
    if (std::holds_alternative<follow::JobFollowed>(event.what)) ++followed;
    if (std::holds_alternative<follow::JobKept>(event.what)) kept = true;
  });
  if (told_to_end) backend->remove_job({false});
  h.loop.run(2min);
  CHECK(asked.empty());
  CHECK(followed == 1);
  CHECK_FALSE(kept);
}

TEST_CASE_METHOD(Removal, "a cancel before a job is known leaves alone what another step has made for this run") {
  found["metadata"]["labels"] = {{"app.kubernetes.io/managed-by", "trainstep"}, {"trainstep.dev/run", plan.run_id}};
  found["metadata"]["annotations"]["trainstep.dev/spec-hash"] = plan.spec_hash;
  bool is_ours = false, is_served = true;
  SECTION("with the same inputs") { is_ours = true; }
  SECTION("with other inputs") { found["metadata"]["annotations"]["trainstep.dev/spec-hash"] = "another"; }
  SECTION("with other inputs, in our own Workflow: a Secret has changed between two attempts") {
    belongs_to_a_workflow();
    found["metadata"]["annotations"]["trainstep.dev/spec-hash"] = "another";
    found["metadata"]["labels"]["trainstep.dev/workflow"] = "wf";
    is_ours = true;
  }
  SECTION("with other inputs, in another Workflow") {
    belongs_to_a_workflow();
    found["metadata"]["annotations"]["trainstep.dev/spec-hash"] = "another";
    found["metadata"]["labels"]["trainstep.dev/workflow"] = "other";
  }
  SECTION("with unknown inputs") { found["metadata"].erase("annotations"); }
  SECTION("that another program manages") {
    found["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "Helm";
    is_served = false;
  }
  SECTION("of a different run") {
    found["metadata"]["labels"]["trainstep.dev/run"] = "other";
    is_served = false;
  }
  h.server.serve([this](const FakeTransport::Asked& request) {
    asked.push_back(request.request.method);
    return ok(found);
  });
  backend = std::make_unique<ClusterBackend>(*h.client, plan, facts, "ns", "attempt");
  backend->only_end();
  backend->prepare([&](const follow::Event& event) {
    if (std::holds_alternative<follow::JobGone>(event.what)) ++gone;
    if (const auto* line = std::get_if<follow::BackendMessage>(&event.what)) told.push_back(line->text);
  });
  backend->remove_job({true});
  h.loop.run(2min);
  CHECK(asked == (is_ours ? Words{"GET", "DELETE"} : Words{"GET"}));
  CHECK(gone == 1);
  const auto* expected = is_ours     ? "the job is deleted"
                         : is_served ? "jobs/digits-0123456789 exists for this run, but may have other inputs; leaving it unchanged"
                                     : "no job of this run";
  CHECK(told.back() == expected);
}

TEST_CASE_METHOD(Removal, "a job of this attempt found with another attempt's annotation was adopted") {
  found = followed_by("another", "5", "attempt");
  remove(false);
  CHECK(asked.empty());
  CHECK(followed == 1);
}

TEST_CASE_METHOD(Removal, "a job that may not be read is deleted: nothing says that another attempt follows it") {
  for (int i = 0; i < 5; ++i) {
    answers.push_back(conflict());
    answers.push_back(refusal(403, "Forbidden", R"(User "x" cannot get resource)"));
  }
  answers.push_back(ok(job("u", "7")));
  remove(false);
  CHECK(asked.size() == 11);
  CHECK(asked.back() == whatever_version);
  CHECK(gone == 1);
}

TEST_CASE_METHOD(Removal, "a job that is gone, or whose name belongs to another, counts as removed") {
  const auto gone_now = absent(plan.job_name);
  const bool at_once = GENERATE(false, true);
  SECTION("gone") { answers = {gone_now}; }
  SECTION("another of its name") { answers = {conflict(), ok(job("other", "9"))}; }
  SECTION("gone when it is looked at") { answers = {conflict(), gone_now, gone_now}; }
  remove(at_once);
  CHECK(gone == 1);
  CHECK_FALSE(failed);
  CHECK(std::ranges::find(told, "the job is deleted") == told.end());
}

TEST_CASE_METHOD(Removal, "a job with a conflict exists, whatever a lagging server returns for a GET") {
  SECTION("that there is none yet") { answers = {conflict(), absent(plan.job_name), conflict(), ok(job("u", "6")), ok(job("u", "6"))}; }
  SECTION("that an earlier one has its name") { answers = {conflict(), ok(job("earlier", "3")), conflict(), ok(job("u", "6")), ok(job("u", "6"))}; }
  remove(false);
  CHECK(asked == Words{at_version_5, "GET", at_version_5, "GET", at_version_6});
  CHECK(told.back() == "the job is deleted");
  CHECK(gone == 1);
}

TEST_CASE_METHOD(Removal, "a response that does not concern the job does not mean that it is gone: it is read and deleted") {
  Reply odd;
  SECTION("409 of another writer") { odd = refusal(409, "Conflict", "Operation cannot be fulfilled on jobs.batch: the object has been modified"); }
  SECTION("a gateway's 404") { odd = gateways_404(); }
  SECTION("404: no such path") { odd = no_such_path(); }
  SECTION("403 of an API server that has just been started") { odd = refusal(403, "Forbidden", R"(User "x" cannot delete resource)"); }
  SECTION("a pause longer than the pod has to live") { odd = {.status = 429, .headers = {{"Retry-After", "600"}}}; }
  SECTION("no answer at all") { odd = Reply::silent(); }
  SECTION("a page of another server") { odd = Reply::text("<html>please log in</html>"); }
  answers = {odd, ok(job("u", "5")), ok(job("u", "5"))};
  remove(true);
  CHECK(asked == Words{at_version_5, "GET", at_version_5});
  CHECK(told.back() == "the job is deleted");
  CHECK(gone == 1);
  CHECK(h.server.asked().back().at - h.server.asked()[h.server.asked().size() - 3].at <= 12s);
}

TEST_CASE_METHOD(Removal, "a DELETE without a response was accepted if the job is seen terminating") {
  auto going = job("u", "6");
  going["metadata"]["deletionTimestamp"] = "2026-11-21T08:00:00Z";
  going["metadata"]["finalizers"] = {"foregroundDeletion"};
  answers = {Reply::silent(), ok(going)};
  remove(true);
  CHECK(asked == Words{at_version_5, "GET"});
  CHECK(told.back() == "the job is deleted");
  CHECK(gone == 1);
}

TEST_CASE_METHOD(Removal, "a delay requested by the server leaves time for the last attempts of a removal") {
  for (int i = 0; i < 40; ++i) answers.push_back(i % 2 == 0 ? Reply{.status = 503, .headers = {{"Retry-After", "99999"}}} : ok(job("u", "5")));
  remove(true);
  CHECK(std::ranges::count(asked, at_version_5) >= 4);
  CHECK(failed);
  const auto& all = h.server.asked();
  const auto last = std::ranges::find_if(all.rbegin(), all.rend(), [](const auto& one) { return one.request.method == "DELETE"; });
  CHECK(last->at - begun >= 24s);
  CHECK(last->at - begun <= 26s);
}

TEST_CASE_METHOD(Removal, "a job that changes before each DELETE is deleted in the end as it is") {
  for (int i = 0; i < 5; ++i) {
    answers.push_back(conflict());
    answers.push_back(ok(job("u", "6")));
  }
  answers.push_back(ok(job("u", "7")));
  remove(false);
  CHECK(asked.size() == 11);
  CHECK(asked.back() == whatever_version);
  CHECK(gone == 1);
}

TEST_CASE_METHOD(Removal, "a webhook's rejection is final, an authorizer's after 10 s, a busy server is retried for 25 s") {
  SECTION("refused") {
    answers = {refusal(403, "Forbidden", R"(admission webhook "x" denied the request)")};
    remove(true);
    CHECK(asked.size() == 1);
  }
  SECTION("not allowed") {  // for ten seconds: an API server that has just been started says so, too
    for (int i = 0; i < 200; ++i) answers.push_back(refusal(403, "Forbidden", R"(User "x" cannot delete resource)"));
    remove(true);
    const auto& all = h.server.asked();
    const auto last = std::ranges::find_if(all.rbegin(), all.rend(), [](const auto& one) { return one.request.method == "DELETE"; });
    CHECK(last->at - begun >= 10s);
    CHECK(last->at - begun <= 20s);
  }
  SECTION("busy") {
    for (int i = 0; i < 200; ++i) answers.push_back(refusal(503, "ServiceUnavailable", "later"));
    remove(true);
    CHECK(asked.size() > 5);
    CHECK(asked.size() < 200);
  }
  CHECK(gone == 0);
  CHECK(failed);
}

TEST_CASE_METHOD(Removal, "a signal during a removal limits it to the grace period of the step's pod") {
  const bool away = GENERATE(true, false);
  if (!away) answers.assign(500, refusal(503, "ServiceUnavailable", "later"));
  watch();
  backend->remove_job({true, false});
  h.loop.run(2s);
  CHECK_FALSE(failed);
  const auto signalled = h.loop.now();
  backend->set_kill_time(signalled + 8s);
  h.loop.run(2min);
  REQUIRE(failed);
  CHECK(failed_at - signalled < 8s);
}

TEST_CASE_METHOD(Removal, "a server that is away is waited for") {
  for (int i = 0; i < 8; ++i) answers.push_back(Reply::lost());
  answers.push_back(ok(job("u", "5")));
  answers.push_back(ok(job("u", "5")));
  remove(true);
  CHECK(gone == 1);
  CHECK_FALSE(failed);
}

TEST_CASE("a kept job has the deadline that was set when it was kept") {
  const bool kept = GENERATE(true, false);
  const bool own = GENERATE(true, false);  // has one of its own, which comes first
  auto object = job("u", "5", "Failed");
  object["status"]["conditions"][0]["reason"] = "DeadlineExceeded";
  if (kept) object["metadata"]["annotations"][std::string(kept_annotation)] = "2026-11-21T09:00:00Z";
  Harness h;
  h.server.serve([](const FakeTransport::Asked&) { return Reply::silent(); });
  auto plan = job_types::test::example("Job", 1);
  if (own) plan.options.run_policy.active_deadline = Duration(20'000);
  object["spec"]["activeDeadlineSeconds"] = 20;
  const Facts facts;
  std::optional<job_types::Judgement> judged;
  ClusterBackend backend(*h.client, plan, facts, "ns", "attempt", Submitted{job_types::find("Job").resources.front(), object, true});
  backend.prepare([&](const follow::Event& event) {
    if (const auto* seen = std::get_if<follow::JobSeen>(&event.what)) judged = seen->judgement;
  });
  h.loop.run(1s);
  REQUIRE(judged);
  CHECK(judged->state == job_types::Judgement::State::failed);
  CHECK(judged->reason == (kept && !own ? follow::kept_in_vain : "DeadlineExceeded"));
}

namespace {

// Ended, with a claim that the job's Workflow owns as well.
struct Ended : Removal {
  Ended() {
    belongs_to_a_workflow();
    plan.pvc_name = "ckpts";
    Json owners = Json::array({{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", plan.job_name}, {"uid", "u"}}});
    owners.push_back({{"apiVersion", "argoproj.io/v1alpha1"}, {"kind", "Workflow"}, {"name", "wf"}, {"uid", "w"}});
    Json object = {{"metadata", {{"name", "ckpts"}, {"uid", "c"}, {"resourceVersion", "7"}, {"ownerReferences", owners}}}};
    object["metadata"]["labels"] = {{"app.kubernetes.io/managed-by", "trainstep"}};
    claim = Reply::text(to_text(object));
  }
  std::optional<std::string> concluded;
  void conclude(result::VerdictClass verdict_class) {
    backend->conclude(
        {verdict_class, "", std::nullopt, false, 0}, [](const std::string&) {}, [this](std::string problem) { concluded = std::move(problem); });
    h.loop.run(5min);
  }
};

}  // namespace

TEST_CASE_METHOD(Ended, "a claim is kept only for the next attempt: a cancelled or succeeded job's Workflow keeps none") {
  answers = {ok(job("u", "5")), refusal(404, "NotFound", "not found", {{"name", plan.job_name}})};
  using enum result::VerdictClass;
  const auto verdict = GENERATE(cancelled, succeeded, user, timeout);
  if (verdict == succeeded) plan.options.cleanup = "always";
  remove(verdict == cancelled);
  conclude(verdict);
  CHECK(concluded == "");
  const bool goes = verdict == cancelled || verdict == succeeded;
  REQUIRE(patches.size() == (goes ? 1 : 0));
  if (!goes) return;
  const auto& owners = patches[0]["metadata"]["ownerReferences"];
  REQUIRE(owners.size() == 1);
  CHECK(owners[0] == Json{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", plan.job_name}, {"uid", "u"}});
}

TEST_CASE_METHOD(Ended, "where no Workflow owns the job, a step that is retried leaves the claim of its failed job to the next attempt") {
  using enum result::VerdictClass;
  facts.workflow.reset();
  facts.retry = GENERATE(Retry::none, Retry::may_follow);
  const bool at_once = GENERATE(false, true);
  answers = {ok(job("u", "5")), refusal(404, "NotFound", "not found", {{"name", plan.job_name}})};
  SECTION("the verdict ends it") {
    remove(at_once);
    CHECK(gone == 1);
  }
  SECTION("it goes in the clean-up") {
    watch();
    backend->conclude({at_once ? succeeded : user, "", std::nullopt, false, 0}, [](const std::string&) {}, [](const std::string&) {});
    h.loop.run(5min);
  }
  const bool kept = facts.retry != Retry::none && !at_once;
  CHECK(std::ranges::any_of(asked, [](const std::string& what) { return what.starts_with("DELETE"); }));
  REQUIRE(patches.size() == (kept ? 1 : 0));
  if (!kept) return;
  const auto owners = patches[0]["metadata"]["ownerReferences"];
  REQUIRE(owners.size() == 1);
  CHECK(owners[0]["uid"] == "w");  // whoever else owns it
  CHECK(patches[0]["metadata"]["labels"]["trainstep.dev/run"] == plan.run_id);
}

TEST_CASE_METHOD(Removal, "a cancel retries for 25 s while the exec plug-in returns no token, and reports it once") {
  const bool again = GENERATE(true, false);
  int troubles = 0;
  meanwhile = [&] {
    h.client->on_trouble([&](const std::string& reason) { troubles += reason.empty() || gone > 0 || failed ? 0 : 1; });
    h.tokens->problem = Error{ErrorKind::cancelled, "the exec plug-in ended with exit code 1"};
    if (again) h.loop.after(3s, [this] { h.tokens->problem.reset(); });
  };
  answers = {ok(job("u", "5")), ok(job("u", "5"))};
  remove(true);
  CHECK(troubles == 1);
  CHECK(gone == (again ? 1 : 0));
  if (again) return;
  CHECK(asked.empty());
  REQUIRE(failed);
  CHECK(failed_at - begun >= 24s);
  CHECK(failed_at - begun <= 32s);
}
