// Exactly one job, whatever the answers are.
#include "cluster/submit.h"

#include "support/catch.h"
#include "unit/job_types/example.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;
using Catch::Matchers::Contains;

namespace {

using Words = std::vector<std::string>;
const std::string discovery = R"({"kind": "APIResourceList", "resources": [{"name": "jobs"}]})";

// An API server with one name in it. A create that is answered otherwise may have had its effect, or not yet.
struct Server {
  Harness h;
  plan::Plan plan = job_types::test::example("Job", 1);
  Facts facts;
  Json job;                        // as it is there; null: it is not
  Json claim;                      // "ckpts", likewise
  std::deque<Reply> discoveries;   // odd answers to the question what is served
  std::deque<Reply> creates;       // answers to creates, in order; then 201
  std::deque<Reply> odd_dry_runs;  // those to dry runs
  std::deque<Reply> deletes;       // those to DELETEs that are not carried out
  int behind = 0;                  // so many GETs do not know of the job yet
  bool takes_effect = true;        // those answers come although the job was made
  std::optional<Reply> dry_run, refused_patch;
  Submission::Depth depth = Submission::Depth::create;
  Words asked, told;
  std::optional<Result<Submitted>> result;
  Json own_pod = {{"metadata", {{"name", "step-1"}, {"uid", "p-1"}}}, {"status", {{"phase", "Running"}}}};
  std::optional<AttemptOrder> order;
  std::unique_ptr<Submission> submission;

  Server() { plan.labels.emplace_back("app.kubernetes.io/managed-by", "trainstep"); }
  Reply answer(const FakeTransport::Asked& request) {
    const auto& path = request.request.url.path;
    if (path.ends_with("/batch/v1") && !discoveries.empty()) {
      auto reply = discoveries.front();
      discoveries.pop_front();
      return reply;
    }
    if (path.ends_with("/batch/v1")) return Reply::text(discovery);
    if (path.ends_with("/persistentvolumeclaims/ckpts")) {
      asked.push_back(request.request.method + " claim");
      if (request.request.method == "GET") return claim.is_null() ? absent("ckpts") : Reply::text(to_text(claim));
      patches.push_back(Json::parse(request.request.body));
      return refused_patch.value_or(Reply::text(to_text(claim)));
    }
    if (path.ends_with("/pods/step-1")) return own_pod.is_null() ? absent("step-1") : Reply::text(to_text(own_pod));
    const bool dry = request.query("dryRun") == "All";
    asked.push_back(request.request.method + (dry ? " dry" : ""));
    const auto missing = [] { return refusal(404, "NotFound", "not found"); };
    if (request.request.method == "GET" && behind > 0 && behind-- > 0) return missing();
    if (request.request.method == "GET") return job.is_null() ? missing() : Reply::text(to_text(job));
    if (request.request.method == "DELETE" && !deletes.empty()) {
      auto reply = deletes.front();
      deletes.pop_front();
      return reply;
    }
    if (request.request.method == "DELETE") {
      deleted = path;
      job = nullptr;
      return named(plan.job_name);
    }
    if (request.request.method == "PATCH") {
      patches.push_back(Json::parse(request.request.body));
      if (meanwhile) meanwhile();
      if (refused_patch) return *refused_patch;
      return Reply::text(to_text(job));
    }
    auto made = Json::parse(request.request.body);
    if (webhook) webhook(made);
    if (dry && !odd_dry_runs.empty()) {
      auto reply = odd_dry_runs.front();
      odd_dry_runs.pop_front();
      return reply;
    }
    if (dry) return dry_run ? *dry_run : Reply::text(to_text(made), 201);
    made["metadata"]["uid"] = "u-1";
    if (creates.empty()) {
      job = made;
      return Reply::text(to_text(made), 201);
    }
    if (takes_effect && job.is_null()) job = made;
    auto reply = creates.front();
    creates.pop_front();
    return reply;
  }
  void submit(Duration longest = 30min) {
    h.server.serve([this](const FakeTransport::Asked& request) { return answer(request); });
    submission = std::make_unique<Submission>(
        *h.client, plan, facts, "ns", "attempt-1",
        Submission::Sink{[this](const std::string& line) { told.push_back(line); }, [this](Result<Submitted> done) { result = std::move(done); }},
        &order.emplace(*h.client, facts), depth);
    h.loop.run(longest);
  }
  Json of_an_earlier_attempt() {
    return {{"apiVersion", "batch/v1"},
            {"kind", "Job"},
            {"metadata",
             {{"name", plan.job_name},
              {"uid", "u-0"},
              {"labels", {{"app.kubernetes.io/managed-by", "trainstep"}, {"trainstep.dev/run", plan.run_id}}},
              {"annotations", {{"trainstep.dev/created-by", "attempt-0"}, {"trainstep.dev/spec-hash", plan.spec_hash}}}}}};
  }
  void begins_at(const char* time) {
    facts.name_space = "ns";
    facts.pod = "step-1";
    facts.pod_uid = "p-1";
    facts.began = from_rfc3339(time);
  }
  std::vector<Json> patches;
  std::string deleted;  // the path of the last DELETE that was carried out
  std::function<void()> meanwhile;
  std::function<void(Json&)> webhook;
};

const auto quota = [] { return refusal(403, "Forbidden", "jobs.batch \"x\" is forbidden: exceeded quota: jobs"); };

}  // namespace

TEST_CASE_METHOD(Server, "adopting a job annotates it if permitted, unless the job has ended") {
  job = of_an_earlier_attempt();
  SECTION("it may") {}
  SECTION("it may not") { refused_patch = refusal(403, "Forbidden", "no"); }
  SECTION("over") { job["status"]["conditions"] = Json::array({{{"type", "Complete"}, {"status", "True"}}}); }
  const bool over = job.contains("status");
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK((**result).adopted);
  REQUIRE(patches.size() == (over ? 0U : refused_patch ? patches.size() : 1U));
  const Json mark = {{"trainstep.dev/followed-by", "attempt-1"}, {"trainstep.dev/attempt-began", nullptr}};
  if (!over) CHECK(patches.front() == Json{{"metadata", {{"uid", "u-0"}, {"annotations", mark}}}});
}

TEST_CASE_METHOD(Server, "an attempt that was lost does nothing to the job of a later one, whatever has become of it") {
  begins_at("2026-03-01T10:00:00Z");
  own_pod = nullptr;
  job = of_an_earlier_attempt();
  auto& annotations = job["metadata"]["annotations"];
  annotations["trainstep.dev/attempt-began"] = "2026-03-01T10:00:01Z";
  SECTION("it trains") {}
  SECTION("it is left with a deadline") { annotations["trainstep.dev/kept-until"] = "2026-03-01T11:00:00Z"; }
  SECTION("it has failed, and its pipeline knows") {
    annotations["trainstep.dev/outcome"] = "user";
    job["status"]["conditions"] = Json::array({{{"type", "Failed"}, {"status", "True"}}});
  }
  SECTION("its data are gone") { annotations["trainstep.dev/data"] = "gone"; }
  SECTION("earlier jobs are not wanted") { plan.options.reattach = "never"; }
  SECTION("its inputs are others") { annotations["trainstep.dev/spec-hash"] = "another"; }
  SECTION("it is being deleted") { job["metadata"]["deletionTimestamp"] = "2026-03-01T10:30:00Z"; }
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK((**result).followed);
  CHECK(std::ranges::all_of(asked, [](const std::string& what) { return what == "GET" || what == "POST dry"; }));
}

TEST_CASE_METHOD(Server, "an attempt whose pod is not whole any more was lost, one whose pod is whole is the later one whatever clocks say") {
  begins_at("2026-03-01T10:00:00Z");
  job = of_an_earlier_attempt();
  job["metadata"]["annotations"]["trainstep.dev/attempt-began"] = "2026-03-01T10:05:00Z";
  bool lost = true;
  SECTION("ended by the component that lost it") { own_pod["status"]["phase"] = "Failed"; }
  SECTION("disrupted") { own_pod["status"]["conditions"] = Json::array({{{"type", "DisruptionTarget"}, {"status", "True"}}}); }
  SECTION("being deleted") { own_pod["metadata"]["deletionTimestamp"] = "2026-03-01T10:04:00Z"; }
  SECTION("another of its name") { own_pod["metadata"]["uid"] = "p-2"; }
  SECTION("no answer") { own_pod = {{"kind", "Status"}}; }
  SECTION("whole") { lost = false; }
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK((**result).followed == lost);
  REQUIRE(patches.size() == (lost ? 0U : 1U));
  if (!lost) CHECK(began_by(patches[0]) == from_rfc3339("2026-03-01T10:05:01Z"));  // the other one, should it live on, comes before
}

TEST_CASE_METHOD(Server, "a job that is made says when the attempt that makes it began, where a workflow has made its pod") {
  begins_at("2026-03-01T10:00:00Z");
  SECTION("it has") {}
  SECTION("it has not") { facts.began.reset(); }
  SECTION("after a job of an attempt that clocks call a later one") {
    job = of_an_earlier_attempt();
    job["metadata"]["annotations"]["trainstep.dev/attempt-began"] = "2026-03-01T10:05:00Z";
    job["metadata"]["annotations"]["trainstep.dev/data"] = "gone";
  }
  const bool made_anew = !job.is_null();
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK_FALSE((**result).adopted);
  const auto expected = made_anew ? from_rfc3339("2026-03-01T10:05:01Z") : facts.began;
  CHECK(began_by((**result).object) == expected);
}

TEST_CASE_METHOD(Server, "a job adopted by another attempt before this one's annotation is stored belongs to that attempt") {
  begins_at("2026-03-01T10:00:00Z");
  own_pod = nullptr;
  job = of_an_earlier_attempt();
  job["metadata"]["resourceVersion"] = "5";
  refused_patch = refusal(409, "Conflict", "the object has been modified");
  SECTION("it trains") {}
  SECTION("no response") { refused_patch = Reply::silent(); }
  SECTION("it is left with a deadline") { job["metadata"]["annotations"]["trainstep.dev/kept-until"] = "2026-03-01T11:00:00Z"; }
  meanwhile = [this] {
    job["metadata"]["resourceVersion"] = "6";
    job["metadata"]["annotations"]["trainstep.dev/attempt-began"] = "2026-03-01T10:01:00Z";
    job["metadata"]["annotations"]["trainstep.dev/followed-by"] = "attempt-2";
  };
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK((**result).followed);
  for (const auto& patch : patches) CHECK(patch.at("metadata").value("resourceVersion", "none") == "5");
}

TEST_CASE_METHOD(Server, "a job that changes at every attempt to adopt it is followed anyway") {
  job = of_an_earlier_attempt();
  job["metadata"]["resourceVersion"] = "5";
  refused_patch = refusal(409, "Conflict", "the object has been modified");
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK((**result).adopted);
  CHECK(patches.size() == 6);
}

TEST_CASE_METHOD(Server, "a quota that still counts the job that was deleted is waited for, for a while") {
  job = of_an_earlier_attempt();
  job["metadata"]["annotations"]["trainstep.dev/data"] = "gone";
  takes_effect = false;
  const int refusals = GENERATE(3, 300);
  const bool dry = GENERATE(false, true);
  if (dry)
    dry_run = quota();
  else
    for (int i = 0; i < refusals; ++i) creates.push_back(quota());
  if (dry && refusals == 3) h.loop.after(3s, [this] { dry_run.reset(); });
  submit();
  REQUIRE(result);
  CHECK(result->has_value() == (refusals == 3));
  if (!*result) CHECK(result->error().kind == ErrorKind::input);
  CHECK(std::ranges::count(told, "a quota still counts the deleted job: waiting") == 1);
}

TEST_CASE_METHOD(Server, "an attempt that was cut off before its create makes no job when its pod has gone meanwhile") {
  begins_at("2026-03-01T10:00:00Z");
  const bool gone = GENERATE(true, false);
  if (gone) own_pod = nullptr;
  dry_run = Reply::silent();
  h.loop.after(1min, [this] { dry_run.reset(); });
  submit();
  REQUIRE(result);
  CHECK(result->has_value() != gone);
  CHECK(job.is_null() == gone);
}

TEST_CASE_METHOD(Server, "the job of an earlier attempt is adopted, and its start is logged") {
  begins_at("2026-03-01T10:00:00Z");
  job = of_an_earlier_attempt();
  const auto* before = GENERATE("2026-03-01T09:59:59Z", "2026-03-01T10:00:00Z", "a while ago", "");
  if (*before != '\0') job["metadata"]["annotations"]["trainstep.dev/attempt-began"] = before;
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK((**result).adopted);
  CHECK_FALSE((**result).followed);
  REQUIRE(patches.size() == 1);
  CHECK(began_by(patches[0]) == facts.began);
}

TEST_CASE_METHOD(Server, "a job of this run that another program manages is not adopted, as trainstep stop would not find it") {
  job = of_an_earlier_attempt();
  job["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "Helm";
  submit();
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::conflict);
  CHECK_THAT(result->error().message,
             Contains("does not belong to this run: its label app.kubernetes.io/managed-by is \"Helm\", not \"trainstep\"; delete it"));
  CHECK(patches.empty());
  CHECK(deleted.empty());
}

TEST_CASE_METHOD(Server, "a job whose claim does not exist is not created, but an existing one is adopted") {
  plan.nodes.absent = "datta";
  SECTION("none exists") {
    const bool no_dry_run = GENERATE(true, false);
    if (no_dry_run) dry_run = refusal(400, "BadRequest", "admission webhook \"w\" does not support dry run");
    submit();
    REQUIRE(result);
    REQUIRE_FALSE(*result);
    CHECK(result->error().kind == ErrorKind::input);
    CHECK(result->error().message == "claim datta: not found in namespace ns; create it, or correct its name in job_options.volumes");
    CHECK(asked == Words{"GET", "POST dry"});
  }
  SECTION("trainstep check") {
    depth = Submission::Depth::dry_run;
    submit();
    REQUIRE(result);
    REQUIRE_FALSE(*result);
    CHECK_THAT(result->error().message, Contains("claim datta: not found"));
  }
  SECTION("one exists") {
    job = of_an_earlier_attempt();
    submit();
    REQUIRE(result);
    REQUIRE(*result);
    CHECK((*result)->adopted);
  }
}

TEST_CASE_METHOD(Server, "a webhook without dry-run support does not prevent the job") {
  dry_run = refusal(400, "BadRequest", R"(admission webhook "x.example.com" does not support dry run)");
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK_FALSE((**result).adopted);
  CHECK(asked == Words{"GET", "POST dry", "POST"});
}

TEST_CASE_METHOD(Server, "a webhook that removes the job's identifying labels is detected by the dry run, before the job exists") {
  depth = GENERATE(Submission::Depth::create, Submission::Depth::dry_run);
  std::string lost;
  SECTION("all annotations") {
    webhook = [](Json& made) { made["metadata"].erase("annotations"); };
    lost = "annotation trainstep.dev/";
  }
  SECTION("one of them") {
    webhook = [](Json& made) { made["metadata"]["annotations"].erase("trainstep.dev/spec-hash"); };
    lost = "annotation trainstep.dev/spec-hash";
  }
  SECTION("another value") {
    webhook = [](Json& made) { made["metadata"]["labels"]["trainstep.dev/run"] = "x"; };
    lost = "label trainstep.dev/run";
  }
  SECTION("the label by which other commands list it") {
    webhook = [](Json& made) { made["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "Helm"; };
    lost = "label app.kubernetes.io/managed-by";
  }
  submit();
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::input);
  CHECK_THAT(result->error().message, Contains(lost) && Contains("webhook"));
  CHECK(asked == Words{"GET", "POST dry"});
}

TEST_CASE_METHOD(Server,
                 "a webhook that gives the job another name is found by the dry run, and what only the create shows is deleted under that name") {
  webhook = [this](Json& made) { made["metadata"]["name"] = plan.job_name + "-x"; };
  SECTION("the dry run") {
    depth = GENERATE(Submission::Depth::create, Submission::Depth::dry_run);
    submit();
    CHECK(asked == Words{"GET", "POST dry"});
  }
  SECTION("the create") {
    dry_run = refusal(400, "BadRequest", R"(admission webhook "x.example.com" does not support dry run)");
    submit();
    CHECK(job.is_null());
    CHECK(deleted.ends_with(plan.job_name + "-x"));
  }
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::input);
  CHECK_THAT(result->error().message, Contains("the job's name was changed") && Contains("webhook"));
}

TEST_CASE_METHOD(Server, "one response of a gateway, or of an API server that has just started, is not a rejection") {
  const auto odd = GENERATE(Reply::text("<html>not found</html>", 404), Reply::text("no", 400), Reply::text("no", 405), Reply::text("gone", 410),
                            Reply::text("misdirected", 421), Reply::text("", 302), Reply::text("<html>forbidden</html>", 403),
                            refusal(403, "Forbidden", R"(jobs.batch is forbidden: User "x" cannot create resource "jobs")"),
                            refusal(404, "NotFound", "the server could not find the requested resource", {{"group", "batch"}, {"kind", "jobs"}}),
                            refusal(409, "Conflict", "Operation cannot be fulfilled: the object has been modified"));
  CAPTURE(odd.status);
  takes_effect = false;
  SECTION("discovery") { discoveries = {odd, odd}; }
  SECTION("the dry run") { odd_dry_runs = {odd, odd}; }
  SECTION("the create") { creates = {odd, odd}; }
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK_FALSE((**result).adopted);
}

TEST_CASE_METHOD(Server, "a create to which only a gateway responded may have created the job, then or later") {
  takes_effect = GENERATE(true, false);
  creates.assign(100, Reply::text("<html>not found</html>", 404));
  if (!takes_effect)
    h.loop.after(40s, [this] {
      job = of_an_earlier_attempt();
      job["metadata"]["annotations"]["trainstep.dev/created-by"] = "attempt-1";
    });
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK(std::ranges::count(asked, "POST") <= 7);
}

TEST_CASE_METHOD(Server, "a rejection that a gateway repeats is final, as is a missing permission to create") {
  takes_effect = false;
  const bool gateway = GENERATE(true, false);
  const auto no_right = refusal(403, "Forbidden", R"(jobs.batch is forbidden: User "x" cannot create resource "jobs")");
  (GENERATE(true, false) ? creates : odd_dry_runs).assign(100, gateway ? Reply::text("<html>not found</html>", 404) : no_right);
  submit(2min);
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK_THAT(result->error().message, Contains(gateway ? "HTTP 404" : "cannot create"));
}

TEST_CASE_METHOD(Server, "a repeated rejection that is not caused by the inputs is not reported as an input error") {
  takes_effect = false;
  const auto reply = GENERATE(refusal(404, "NotFound", "the server could not find the requested resource"),
                              refusal(409, "Conflict", "Operation cannot be fulfilled: the object has been modified"));
  (GENERATE(true, false) ? creates : odd_dry_runs).assign(100, reply);
  submit(2min);
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::unavailable);
}

TEST_CASE_METHOD(Server, "a missing namespace is an input error, and reported at once") {
  takes_effect = false;
  creates.assign(100, refusal(404, "NotFound", "namespaces \"ns\" not found", {{"name", "ns"}, {"kind", "namespaces"}}));
  submit(10s);
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::not_found);
  CHECK(std::ranges::count(asked, "POST") == 1);
}

TEST_CASE_METHOD(Server, "a login page in response to each create is given up like other rejections of a gateway, and reported once") {
  takes_effect = false;
  creates.assign(1'000, Reply::text("<html>log in</html>"));
  Words trouble;
  h.client->on_trouble([&](const std::string& reason) { trouble.push_back(reason); });
  submit(7min);
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::unavailable);
  REQUIRE(trouble.size() <= 2);
  CHECK_THAT(trouble.front(), Contains("the server is not an API server (create jobs/"));
}

TEST_CASE_METHOD(Server, "a webhook's denial is a refusal at once, whatever its status") {
  dry_run = refusal(409, "Conflict", "admission webhook \"one.example\" denied the request: there is one already");
  submit();
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind != ErrorKind::unavailable);
  CHECK(std::ranges::count(asked, "POST dry") == 1);
}

TEST_CASE_METHOD(Server, "a quota's conflict that does not pass at the dry run ends the step after its timeout, once") {
  dry_run = refusal(409, "Conflict", "Operation cannot be fulfilled on resourcequotas \"q\": the object has been modified");
  submit(7min);
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::unavailable);
}

TEST_CASE_METHOD(Server, "once the step is to end no create is sent, however it was answered before") {
  takes_effect = false;
  creates.assign(3, refusal(503, "ServiceUnavailable", "later"));
  h.loop.after(100ms, [this] { submission->hold(); });
  submit();
  CHECK_FALSE(result);
  CHECK(std::ranges::count(asked, "POST") == 1);
  CHECK(job.is_null());
}

TEST_CASE_METHOD(Server, "without a dry run, a job that has lost its identifying labels is deleted at once") {
  dry_run = refusal(400, "BadRequest", R"(admission webhook "x.example.com" does not support dry run)");
  webhook = [](Json& made) { made["metadata"].erase("annotations"); };
  const bool may = GENERATE(true, false);
  if (!may) deletes.assign(1'000, refusal(403, "Forbidden", R"(User "x" cannot delete resource "jobs")", {{"name", plan.job_name}}));
  submit();
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::input);
  CHECK_THAT(result->error().message, Contains("annotation trainstep.dev/"));
  CHECK(job.is_null() == may);
  CHECK((result->error().message.find("may still exist") == std::string::npos) == may);
  CHECK(std::ranges::count(asked, "POST") == 1);
}

TEST_CASE_METHOD(Server, "for a job with another specification, the release that created it is reported if it differs") {
  job = of_an_earlier_attempt();
  auto& annotations = job["metadata"]["annotations"];
  annotations["trainstep.dev/spec-hash"] = "another";
  const auto* version = GENERATE("0.0.1", TRAINSTEP_VERSION, "");
  if (*version != '\0') annotations["trainstep.dev/version"] = version;
  submit();
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::conflict);
  CHECK((result->error().message.find("created by trainstep 0.0.1; this is ") != std::string::npos) == (std::string(version) == "0.0.1"));
}

TEST_CASE_METHOD(Server, "a job records the release that created it") {
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK((**result).object["metadata"]["annotations"]["trainstep.dev/version"] == TRAINSTEP_VERSION);
}

TEST_CASE_METHOD(Server, "for a job without annotations, the log says that its inputs are unknown") {
  job = of_an_earlier_attempt();
  job["metadata"].erase("annotations");
  submit();
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::conflict);
  CHECK_THAT(result->error().message, Contains("its annotation trainstep.dev/spec-hash is missing") && !Contains("inputs changed"));
}

TEST_CASE_METHOD(Server, "a check waits half a minute for a server that is not an API server") {
  discoveries.assign(1'000, Reply::text("<html>log in</html>"));
  depth = Submission::Depth::dry_run;
  submit(1min);
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::unavailable);
}

TEST_CASE_METHOD(Server, "the name is looked up before the dry run, which a quota could refuse because of the job that is there") {
  job = of_an_earlier_attempt();
  dry_run = quota();
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK((**result).adopted);
  CHECK(asked == Words{"GET", "PATCH"});
}

TEST_CASE_METHOD(Server, "an odd answer to discovery is asked again, also that the resource is not served") {
  discoveries = {Reply::text("<html>no such page</html>", 404), refusal(403, "Forbidden", "no roles yet"), Reply::text("404 page not found\n", 404)};
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK(asked == Words{"GET", "POST dry", "POST"});
}

TEST_CASE_METHOD(Server, "a create whose response was lost has created the job, whatever a second one returns") {
  SECTION("lost") { creates = {Reply::lost(), quota()}; }
  SECTION("a proxy's 504") { creates = {Reply::text("<html>504</html>", 504), quota()}; }
  SECTION("etcd's time-out") { creates = {refusal(500, "InternalError", "etcdserver: request timed out"), quota()}; }
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK_FALSE((**result).adopted);
  CHECK(asked == Words{"GET", "POST dry", "POST", "GET"});
}

TEST_CASE_METHOD(Server, "a server that has failed to answer creates is well again once the job is found") {
  Words troubles;
  h.client->on_trouble([&](const std::string& reason) { troubles.push_back(reason.empty() ? "over" : "begun"); });
  takes_effect = GENERATE(true, false);  // after the first one, or after the last
  creates.assign(3, Reply::text("<html>504</html>", 504));
  behind = takes_effect ? 2 : 0;
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  h.loop.run(1s);
  CHECK(troubles == Words{"begun", "over"});
}

TEST_CASE_METHOD(Server, "a create that is answered without an object is settled by looking the name up") {
  takes_effect = GENERATE(true, false);
  SECTION("an empty object") { creates = {Reply::text("{}", 201)}; }
  SECTION("nothing") { creates = {Reply::text("", 201)}; }
  SECTION("a page") { creates = {Reply::text("<html>welcome</html>", 200)}; }
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK((**result).object["metadata"]["uid"] == "u-1");
  CHECK_FALSE((**result).adopted);
}

TEST_CASE_METHOD(Server, "a job that ended by its own deadline while it waited for this attempt is adopted, and this is reported") {
  plan.options.run_policy.active_deadline = Duration(20'000);
  job = of_an_earlier_attempt();
  job["metadata"]["annotations"]["trainstep.dev/kept-until"] = "2026-11-21T09:00:00Z";
  job["status"]["conditions"] = Json::array({{{"type", "Failed"}, {"status", "True"}, {"reason", "DeadlineExceeded"}}});
  const auto seconds = GENERATE(20, 19);
  job["spec"]["activeDeadlineSeconds"] = seconds;
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK((**result).adopted == (seconds == 20));
}

TEST_CASE_METHOD(Server, "a refusal after a create whose answer was lost is believed when that one can take effect no more") {
  takes_effect = false;
  creates = {Reply::lost(), quota()};
  SECTION("it never does") {
    submit();
    REQUIRE(result);
    REQUIRE_FALSE(*result);
    CHECK_THAT(result->error().message, Contains("exceeded quota"));
    CHECK(asked.size() > 30);
  }
  SECTION("it does late") {
    h.loop.after(20s, [this] {
      job = of_an_earlier_attempt();
      job["metadata"]["annotations"]["trainstep.dev/created-by"] = "attempt-1";
    });
    submit();
    REQUIRE(result);
    REQUIRE(*result);
    CHECK_FALSE((**result).adopted);
  }
}

TEST_CASE_METHOD(Server, "a refusal of the first create, or of the dry run, is believed at once") {
  takes_effect = false;
  SECTION("the create") {
    creates = {quota()};
    submit();
    CHECK(asked == Words{"GET", "POST dry", "POST", "GET"});
  }
  SECTION("the dry run") {
    dry_run = quota();
    submit();
    CHECK(asked == Words{"GET", "POST dry", "GET"});
  }
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::input);
}

TEST_CASE_METHOD(Server, "a conflict on a quota's usage is not a rejection of the job") {
  takes_effect = false;
  const auto conflict = refusal(409, "Conflict",
                                "Operation cannot be fulfilled on resourcequotas \"q\": the object has been modified; please apply your changes to "
                                "the latest version and try again",
                                {{"name", "q"}, {"kind", "resourcequotas"}});
  SECTION("which goes by") {
    creates = {conflict, conflict};
    submit();
    REQUIRE(result);
    REQUIRE(*result);
    CHECK(asked == Words{"GET", "POST dry", "POST", "GET", "POST", "GET", "POST"});
  }
  SECTION("and does not end") {
    creates.assign(500, conflict);
    submit();
    REQUIRE(result);
    REQUIRE_FALSE(*result);
    CHECK(result->error().kind == ErrorKind::unavailable);
    CHECK(asked.back() == "GET");
  }
}

TEST_CASE_METHOD(Server, "creates that are answered 5xx are tried for five minutes; then the job is looked for once more") {
  takes_effect = false;
  for (int i = 0; i < 500; ++i) creates.push_back(refusal(503, "ServiceUnavailable", "later"));
  submit();
  REQUIRE(result);
  REQUIRE_FALSE(*result);
  CHECK(result->error().kind == ErrorKind::unavailable);
  CHECK(asked.back() == "GET");
}

TEST_CASE_METHOD(Server, "a job kept with a deadline is adopted permanently") {
  job = of_an_earlier_attempt();
  job["metadata"]["annotations"]["trainstep.dev/kept-until"] = "2026-11-21T09:00:00Z";
  job["spec"]["activeDeadlineSeconds"] = 3600;
  SECTION("without a deadline of its own") {
    submit();
    REQUIRE(patches.size() == 1);
    CHECK(patches[0] == Json::parse(R"({"metadata": {"uid": "u-0", "annotations": {"trainstep.dev/kept-until": null,
                                                                                   "trainstep.dev/followed-by": "attempt-1",
                                                                                   "trainstep.dev/attempt-began": null}},
                                        "spec": {"activeDeadlineSeconds": null}})"));
  }
  SECTION("with one") {
    plan.options.run_policy.active_deadline = 2h;
    submit();
    REQUIRE(patches.size() == 1);
    CHECK(patches[0]["spec"]["activeDeadlineSeconds"] == 7200);
  }
  SECTION("with one that its inputs do not know") {
    job["metadata"]["annotations"]["trainstep.dev/own-deadline"] = "86400";
    submit();
    REQUIRE(patches.size() == 1);
    CHECK(patches[0]["spec"]["activeDeadlineSeconds"] == 86400);
    CHECK(patches[0]["metadata"]["annotations"]["trainstep.dev/own-deadline"].is_null());
  }
  REQUIRE(result);
  REQUIRE(*result);
  CHECK((**result).adopted);
}

TEST_CASE_METHOD(Server, "a job whose keep deadline cannot be removed is followed anyway, and the reason is reported") {
  job = of_an_earlier_attempt();
  job["metadata"]["annotations"]["trainstep.dev/kept-until"] = "2026-11-21T09:00:00Z";
  SECTION("the server fails") { refused_patch = refusal(500, "InternalError", "no"); }
  SECTION("there is no right to it") { refused_patch = refusal(403, "Forbidden", R"(User "x" cannot patch resource)"); }
  SECTION("it is not valid") { refused_patch = refusal(422, "Invalid", "no"); }
  SECTION("no API server's answer") { refused_patch = gateways_404(); }
  submit(2min);
  REQUIRE(result);
  REQUIRE(*result);
  CHECK((**result).adopted);
  REQUIRE((**result).kept);
  CHECK_FALSE((**result).kept->message.empty());
}

TEST_CASE_METHOD(Server, "a job whose keep deadline has passed is deleted and recreated") {
  job = of_an_earlier_attempt();
  job["metadata"]["annotations"]["trainstep.dev/kept-until"] = "2026-11-21T09:00:00Z";
  job["status"]["conditions"] = Json::array({{{"type", "Failed"}, {"status", "True"}, {"reason", "DeadlineExceeded"}}});
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK_FALSE((**result).adopted);
  CHECK(asked == Words{"GET", "DELETE", "GET", "POST dry", "POST"});
  CHECK_THAT(told.back(), Contains("its deadline has passed"));
}

TEST_CASE_METHOD(Server, "a rejected DELETE of a job to be recreated is reported once") {
  plan.options.reattach = "never";
  job = of_an_earlier_attempt();
  const bool conflict = GENERATE(true, false);
  for (int i = 0; i < 3; ++i)
    deletes.push_back(conflict ? refusal(409, "Conflict", "the object has been modified", {{"name", plan.job_name}})
                               : refusal(403, "Forbidden", R"(User "x" cannot delete resource "jobs")", {{"name", plan.job_name}}));
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK_FALSE((**result).adopted);
  CHECK(std::ranges::count_if(told, [](const std::string& line) { return line.ends_with("; trying again"); }) == 1);
}

TEST_CASE_METHOD(Server, "a name that one server reports as taken and another as free is checked again after a moment") {
  job = of_an_earlier_attempt();
  dry_run = refusal(409, "AlreadyExists", "jobs.batch already exists");
  SECTION("until it is seen") {
    behind = 5;
    submit(1min);
    REQUIRE(result);
    REQUIRE(*result);
    CHECK((**result).adopted);
  }
  SECTION("not for ever") {
    behind = 1'000'000;
    submit();
    REQUIRE(result);
    REQUIRE_FALSE(*result);
    CHECK(result->error().kind == ErrorKind::unavailable);
    CHECK(asked.size() < 200);
  }
}

TEST_CASE_METHOD(Server, "the pods of a job deleted by another client and held by a finalizer are stopped while its end is awaited") {
  job = of_an_earlier_attempt();
  job["metadata"]["deletionTimestamp"] = "2026-11-21T08:00:00Z";
  SECTION("it is gone then") {}
  SECTION("we may not delete it") {
    for (int i = 0; i < 50; ++i) deletes.push_back(refusal(403, "Forbidden", R"(User "x" cannot delete resource "jobs")", {{"name", plan.job_name}}));
    h.loop.after(20s, [this] { job = nullptr; });
  }
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK_FALSE((**result).adopted);
  CHECK(std::ranges::count(asked, "DELETE") >= 1);
  CHECK(std::ranges::count(asked, "POST") == 1);
}

TEST_CASE_METHOD(Server, "with reattach: never a job of an earlier attempt is recreated") {
  plan.options.reattach = "never";
  job = of_an_earlier_attempt();
  submit();
  REQUIRE(result);
  REQUIRE(*result);
  CHECK_FALSE((**result).adopted);
  CHECK(asked == Words{"GET", "DELETE", "GET", "POST dry", "POST"});
}

namespace {

// A job that has failed, and told so, with a claim that was made for it.
struct Anew : Server {
  Anew() {
    plan.pvc_name = "ckpts";
    job = of_an_earlier_attempt();
    job["metadata"]["annotations"]["trainstep.dev/outcome"] = "user";
    job["status"]["conditions"] = Json::array({{{"type", "Failed"}, {"status", "True"}}});
    claim = {{"metadata", {{"name", "ckpts"}, {"uid", "c"}, {"resourceVersion", "7"}}}};
    claim["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", plan.job_name}, {"uid", "u-0"}}});
  }
};

}  // namespace

TEST_CASE_METHOD(Anew, "before a job is deleted to be recreated, its claim is transferred to the owners of the new one, or to none") {
  const bool of_workflow = GENERATE(true, false);
  if (of_workflow) facts.workflow = Workflow{"argoproj.io/v1alpha1", "wf", "w"};
  SECTION("we delete it") {}
  SECTION("another client does") { job["metadata"]["deletionTimestamp"] = "2026-11-21T08:00:00Z"; }
  submit();
  REQUIRE((result && *result));
  CHECK(Words(asked.begin(), asked.begin() + 4) == Words{"GET", "GET claim", "PATCH claim", "DELETE"});
  REQUIRE(patches.size() == 1);
  const auto& change = patches[0]["metadata"];
  CHECK(change["resourceVersion"] == "7");
  CHECK(change["labels"]["trainstep.dev/run"] == plan.run_id);
  REQUIRE(change["ownerReferences"].size() == (of_workflow ? 1 : 0));
  if (of_workflow) CHECK(change["ownerReferences"][0]["uid"] == "w");
}

TEST_CASE_METHOD(Anew, "a claim that outlives the job already is left as it is") {
  facts.workflow = Workflow{"argoproj.io/v1alpha1", "wf", "w"};
  claim["metadata"]["ownerReferences"].push_back({{"apiVersion", "argoproj.io/v1alpha1"}, {"kind", "Workflow"}, {"name", "wf"}, {"uid", "w"}});
  submit();
  REQUIRE((result && *result));
  CHECK(patches.empty());
}

TEST_CASE_METHOD(Anew, "missing permission to keep a claim is reported and the job is recreated; without a response nothing is deleted") {
  SECTION("refused") {
    refused_patch = refusal(403, "Forbidden", "cannot patch resource");
    submit();
    REQUIRE((result && *result));
    CHECK(std::ranges::any_of(told, [](const std::string& line) { return line.starts_with("claim ckpts and its data are deleted with the job: "); }));
  }
  SECTION("not answered") {
    refused_patch = refusal(503, "ServiceUnavailable", "etcd is away");
    submit();
    REQUIRE((result && !*result));
    CHECK(std::ranges::count(asked, "DELETE") == 0);
  }
}
