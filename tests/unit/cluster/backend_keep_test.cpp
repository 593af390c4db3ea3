// A job that is left to the next attempt in the time that its step has to live.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <ctime>

#include "cluster/backend.h"
#include "cluster/keep_deadline.h"
#include "support/catch.h"
#include "support/pods.h"
#include "unit/job_types/example.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;
using Catch::Matchers::Contains;

namespace {

struct Kept {
  Harness h;
  plan::Plan plan = job_types::test::example("Job", 1);
  Facts facts;
  std::function<Reply()> patched = [this] { return named(plan.job_name); };
  std::optional<Error> left;  // that it could not be taken up for good
  std::vector<std::string> told, sent;
  std::optional<Time> kept, failed, gone;
  Time begun;
  std::unique_ptr<ClusterBackend> backend;

  Kept() {
    facts.pod = "step-1";
    facts.retry = Retry::may_follow;
  }
  void follow() {
    h.server.serve([this](const FakeTransport::Asked& asked) {
      if (asked.request.url.path.ends_with("/jobs") && asked.query("watch") != "true") return dated(Reply::text(to_text(list())));
      if (asked.request.url.path.ends_with("/pods") && asked.query("watch") != "true" && !pod.is_null())
        return Reply::text(to_text({{"kind", "PodList"}, {"metadata", {{"resourceVersion", "5"}}}, {"items", Json::array({pod})}}));
      if (!asked.request.url.path.ends_with(plan.job_name)) return Reply{.end = Reply::End::open};
      sent.push_back(asked.request.method);
      if (asked.request.method == "PATCH") bodies.push_back(Json::parse(asked.request.body));
      if (asked.request.method == "PATCH") return patched();
      if (asked.request.method == "GET" && unknown) return absent(plan.job_name);
      return Reply::text(to_text(job()));
    });
    backend = std::make_unique<ClusterBackend>(*h.client, plan, facts, "ns", "attempt",
                                               Submitted{job_types::find("Job").resources.front(), job(), true, left});
    backend->prepare([this](const follow::Event& event) {
      if (const auto* line = std::get_if<follow::BackendMessage>(&event.what)) told.push_back(line->text);
      if (std::holds_alternative<follow::JobKept>(event.what)) kept = event.at;
      if (std::holds_alternative<follow::JobGone>(event.what)) gone = event.at;
      if (std::holds_alternative<follow::BackendFailed>(event.what)) {
        failed = event.at;
        if (!gone && !removing) {  // as the machine does
          removing = true;
          backend->remove_job({});
        }
      }
    });
    h.loop.run(1s);
    begun = h.loop.now();
  }
  void keep() {
    follow();
    keep_on();
  }
  void keep_on() {
    backend->set_kill_time(begun + 20s);
    backend->keep_job({});
    h.loop.run(2min);
  }
  [[nodiscard]] Json job() const {
    Json one = {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", {{"name", plan.job_name}, {"uid", "u"}, {"resourceVersion", version}}}};
    if (!spec.is_null()) one["spec"] = spec;
    if (!status.is_null()) one["status"] = status;
    if (!annotations.is_null()) one["metadata"]["annotations"] = annotations;
    return one;
  }
  [[nodiscard]] Reply dated(Reply reply) const {
    const auto time = std::chrono::system_clock::to_time_t(h.loop.now() + clock);
    char text[64];
    std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", std::gmtime(&time));
    reply.headers = {{"Date", text}};
    return reply;
  }
  Duration clock{0};  // how much the cluster's is ahead
  [[nodiscard]] Json list() const {
    return {{"kind", "JobList"},
            {"apiVersion", "batch/v1"},
            {"metadata", {{"resourceVersion", "5"}}},
            {"items", Json::array({listed.is_null() ? job() : listed})}};
  }
  std::string version = "5";
  Json spec, status, annotations, listed;  // of the job; it as the watch begins with it
  Json pod;                                // of the job, as it is found
  std::vector<Json> bodies;                // of the PATCHes
  [[nodiscard]] bool sent_a(const std::string& method) const { return std::ranges::find(sent, method) != sent.end(); }
  bool removing = false, unknown = false;  // unknown: to who answers GETs
};

}  // namespace

TEST_CASE_METHOD(Kept, "a job is kept with a deadline") {
  int tries = 0;
  SECTION("at once") {}
  SECTION("after some odd answers") {
    patched = [&] { return ++tries < 3 ? refusal(GENERATE(410, 422, 500), "Gone", "no") : named(plan.job_name); };
  }
  keep();
  REQUIRE(kept);
  CHECK(*kept - begun < 5s);
  CHECK_FALSE(sent_a("DELETE"));
  CHECK_THAT(told.back(), Contains("the job ends"));
}

TEST_CASE_METHOD(Kept, "a job that cannot be given a deadline in half of the time that is left is deleted in the other") {
  SECTION("no answer") {
    patched = [] { return Reply::silent(); };
  }
  SECTION("a server that fails") {
    patched = [] { return refusal(500, "InternalError", "no"); };
  }
  SECTION("no right to it") {
    patched = [] { return refusal(403, "Forbidden", R"(User "x" cannot patch resource)"); };
  }
  keep();
  CHECK_FALSE(kept);
  REQUIRE(failed);
  CHECK(*failed - begun < 11s);
  CHECK(sent_a("DELETE"));
  REQUIRE(gone);
  CHECK(*gone - begun < 11s);
}

TEST_CASE_METHOD(Kept, "a job that ends while it is left needs no deadline") {
  patched = [this] {
    status = {{"conditions", {{{"type", GENERATE("Complete", "Failed")}, {"status", "True"}}}}};
    return refusal(504, "Timeout", "no");
  };
  keep();
  CHECK(kept);
  CHECK_FALSE(sent_a("DELETE"));
}

TEST_CASE_METHOD(Kept, "a job is kept with its deadline although one server does not know it") {
  int tries = 0;
  patched = [&] { return ++tries == 1 ? refusal(500, "InternalError", "no") : named(plan.job_name); };
  unknown = true;
  keep();
  REQUIRE(kept);
  CHECK(tries == 2);
  CHECK_THAT(told.back(), Contains("the job ends"));
}

TEST_CASE_METHOD(Kept, "for a guaranteed next attempt a job is kept even without a deadline, and this is reported") {
  facts.retry = Retry::follows;
  patched = [] { return Reply::silent(); };
  keep();
  REQUIRE(kept);
  CHECK(*kept - begun < 11s);
  CHECK_FALSE(sent_a("DELETE"));
  CHECK(told.back() == "the job may have no deadline: no answer in the remaining time");
}

TEST_CASE("a job whose create is in progress may appear without a deadline after its step has ended, and this is reported") {
  Harness h;
  auto plan = job_types::test::example("Job", 1);
  Facts facts;
  facts.pod = "step-1";
  facts.retry = Retry::follows;
  int creates = 0;
  h.server.serve([&](const FakeTransport::Asked& asked) {
    const auto& path = asked.request.url.path;
    if (path.ends_with("/apis/batch/v1")) return Reply::text(R"({"kind": "APIResourceList", "resources": [{"name": "jobs"}]})");
    if (path.ends_with(plan.job_name)) return absent(plan.job_name);
    if (asked.request.method != "POST") return Reply::silent();
    if (asked.query("dryRun") == "All") return Reply::text("{}", 201);
    ++creates;
    return Reply::silent();
  });
  std::vector<std::string> told;
  bool kept = false;
  ClusterBackend backend(*h.client, plan, facts, "ns", "attempt");
  backend.prepare([&](const follow::Event& event) {
    if (const auto* line = std::get_if<follow::BackendMessage>(&event.what)) told.push_back(line->text);
    kept = kept || std::holds_alternative<follow::JobKept>(event.what);
  });
  h.loop.run(1s);
  REQUIRE(creates == 1);
  backend.set_kill_time(h.loop.now() + 20s);
  backend.keep_job({});
  h.loop.run(20s);
  CHECK(kept);
  REQUIRE_FALSE(told.empty());
  CHECK(told.back() == "a create request got no response; a job of this run may still appear, without a deadline");
}

TEST_CASE_METHOD(Kept, "before SIGKILL everything is completed or abandoned") {
  follow();
  h.server.serve([](const FakeTransport::Asked&) { return Reply::silent(); });
  backend->set_kill_time(begun + 20s);
  backend->keep_job({});
  h.loop.run(2min);
  CHECK_FALSE(kept);
  REQUIRE(failed);
  CHECK(*failed - begun > 15s);
  CHECK(*failed - begun < 20s);
}

TEST_CASE_METHOD(Kept, "the deadline of a followed job is removed as soon as possible") {
  left = Error{ErrorKind::unavailable, "patch jobs/x: no"};
  annotations = {{"trainstep.dev/kept-until", "2026-11-21T09:00:00Z"}};
  int tries = 0;
  patched = [&] { return ++tries < 3 ? refusal(500, "InternalError", "no") : named(plan.job_name); };
  follow();
  CHECK_THAT(told.back(), Contains("trying again every minute: patch jobs/x: no"));
  h.loop.run(10min);
  CHECK(tries == 3);
  CHECK(told.back() == "removed the deadline set by another attempt");
}

TEST_CASE_METHOD(Kept, "a job adopted by another attempt in the meantime gets no deadline") {
  follow();
  version = "6";
  annotations = {{"trainstep.dev/followed-by", "another"}};
  SECTION("which this one has not seen") {
    patched = [] { return refusal(409, "Conflict", "the object has been modified"); };
    keep_on();
    REQUIRE(bodies.size() == 1);
    CHECK(bodies[0]["metadata"]["resourceVersion"] == "5");
  }
  SECTION("which this one has seen") {
    backend->refresh();
    h.loop.run(1s);
    keep_on();
    CHECK(bodies.empty());
  }
  CHECK(told.back() == "another attempt of this step is following the job; leaving it unchanged");
  CHECK_FALSE(sent_a("DELETE"));
}

TEST_CASE_METHOD(Kept, "a job created or adopted by a later attempt gets no deadline, even if it was found with its annotation") {
  facts.began = from_rfc3339("2026-03-01T10:00:00Z");
  annotations = {{"trainstep.dev/attempt-began", "2026-03-01T10:01:00Z"}};
  SECTION("adopted") { annotations["trainstep.dev/followed-by"] = "another"; }
  SECTION("made") { annotations["trainstep.dev/created-by"] = "another"; }
  keep();
  CHECK(kept);
  CHECK_FALSE(sent_a("PATCH"));
  CHECK_FALSE(sent_a("DELETE"));
}

TEST_CASE_METHOD(Kept, "a job that changes while it is left gets its deadline all the same") {
  follow();
  version = "6";
  annotations = {{"trainstep.dev/followed-by", "attempt"}};
  patched = [&] { return bodies.size() < 2 ? refusal(409, "Conflict", "the object has been modified") : named(plan.job_name); };
  keep_on();
  REQUIRE(bodies.size() == 2);
  CHECK(bodies[1]["metadata"]["resourceVersion"] == "6");
  CHECK_THAT(told.back(), Contains("the job ends"));
}

TEST_CASE_METHOD(Kept, "a deadline set by another attempt while the job is followed is removed, at most once a minute") {
  listed = job();
  listed["metadata"]["resourceVersion"] = "6";
  listed["metadata"]["annotations"] = {{"trainstep.dev/kept-until", "2026-11-21T09:00:00Z"}};
  follow();
  REQUIRE(bodies.size() == 1);
  CHECK(bodies[0]["metadata"]["annotations"] ==
        Json{{"trainstep.dev/kept-until", nullptr}, {"trainstep.dev/followed-by", "attempt"}, {"trainstep.dev/attempt-began", nullptr}});
  CHECK(bodies[0]["spec"] == Json{{"activeDeadlineSeconds", nullptr}});
  CHECK(told.back() == "removed the deadline set by another attempt");
  version = "7";
  annotations = listed["metadata"]["annotations"];
  for (int look = 0; look < 20; ++look) {
    backend->refresh();
    h.loop.run(1s);
  }
  CHECK(bodies.size() == 1);
  h.loop.run(1min);
  CHECK(bodies.size() == 2);
}

TEST_CASE_METHOD(Kept, "a job that waits in its queue is deleted: no deadline would end it") {
  spec = {{"suspend", true}};
  SECTION("it has not begun") {
    keep();
    CHECK_FALSE(kept);
    CHECK(bodies.empty());
    CHECK(sent_a("DELETE"));
  }
  SECTION("it has begun") {
    status = {{"startTime", "2026-01-01T00:00:00Z"}};
    keep();
    CHECK(kept);
    CHECK_FALSE(sent_a("DELETE"));
  }
  SECTION("it had begun when an attempt before left it") {
    annotations = {{"trainstep.dev/kept-until", "2026-01-01T00:00:00Z"}};
    keep();
    CHECK(kept);
    CHECK_FALSE(sent_a("DELETE"));
  }
  SECTION("it had begun before its queue took its place away, and an attempt before was killed") {
    status = {{"conditions", Json::array({{{"type", "Suspended"}, {"status", "False"}}})}};
    keep();
    CHECK(kept);
    CHECK_FALSE(sent_a("DELETE"));
  }
  SECTION("only a terminating pod shows that it ran") {
    const Json labels = {{"job-name", plan.job_name}, {"batch.kubernetes.io/job-name", plan.job_name}};
    pod = trainstep::test::pod("p", "p", trainstep::test::status("Running", Json::array({trainstep::test::container(trainstep::test::running())})));
    pod["metadata"]["labels"] = labels;
    pod["metadata"]["ownerReferences"] = Json::array({{{"kind", "Job"}, {"uid", "u"}, {"controller", true}}});
    keep();
    CHECK(kept);
    CHECK_FALSE(sent_a("DELETE"));
  }
}

TEST_CASE_METHOD(Kept, "a job that was resumed without a watch event does not count as suspended") {
  spec = {{"suspend", true}};
  follow();
  version = "9";
  SECTION("it trains") {
    spec["suspend"] = false;
    status = {{"startTime", to_rfc3339(h.loop.now())}};
    keep_on();
    CHECK(kept);
    CHECK(sent == std::vector<std::string>{"GET", "PATCH"});
  }
  SECTION("another attempt follows it") {
    annotations = {{"trainstep.dev/followed-by", "another"}};
    keep_on();
    CHECK(kept);
    CHECK(sent == std::vector<std::string>{"GET"});
  }
  SECTION("it waits on") {
    keep_on();
    CHECK_FALSE(kept);
    CHECK(sent == std::vector<std::string>{"GET", "DELETE"});
  }
}

TEST_CASE_METHOD(Kept, "a suspended job is deleted in time even if no event reported it") {
  spec = {{"suspend", true}};
  follow();
  facts.launcher = GENERATE(true, false);
  h.server.serve([this](const FakeTransport::Asked& asked) {
    sent.push_back(asked.request.method);
    return asked.request.method == "DELETE" ? Reply::text(to_text(job())) : Reply::silent();
  });
  keep_on();
  CHECK_FALSE(kept);
  REQUIRE(gone);
  CHECK(*gone - begun < 6s);
}

TEST_CASE_METHOD(Kept, "a job that ran before its queue took its place away is left to the next attempt") {
  status = {{"startTime", "2026-01-01T00:00:00Z"}};
  follow();
  version = "9";
  spec = {{"suspend", true}};
  status = nullptr;  // as Kueue does
  backend->refresh();
  h.loop.run(1s);
  keep_on();
  CHECK(kept);
  CHECK_FALSE(sent_a("DELETE"));
  REQUIRE(bodies.size() == 1);
  CHECK(bodies[0]["spec"]["activeDeadlineSeconds"] == 3600);  // from when it is resumed
}

TEST_CASE_METHOD(Kept, "a deadline set by anyone is saved, and applies if it is earlier") {
  status = {{"startTime", to_rfc3339(h.loop.now())}};
  const auto seconds = GENERATE(86400, 1800);
  spec = {{"activeDeadlineSeconds", seconds}};
  keep();
  REQUIRE(bodies.size() == 1);
  CHECK(bodies[0]["metadata"]["annotations"]["trainstep.dev/own-deadline"] == std::to_string(seconds));
  CHECK(bodies[0]["spec"]["activeDeadlineSeconds"].get<int>() <= std::min(seconds, 3700));
}

TEST_CASE_METHOD(Kept, "a followed job that is left with a deadline gets its own one back") {
  listed = job();
  listed["metadata"]["resourceVersion"] = "6";
  listed["metadata"]["annotations"] = {{"trainstep.dev/kept-until", "2026-11-21T09:00:00Z"}, {"trainstep.dev/own-deadline", "86400"}};
  listed["spec"] = {{"activeDeadlineSeconds", 3632}};
  follow();
  REQUIRE(bodies.size() == 1);
  CHECK(bodies[0]["metadata"]["annotations"]["trainstep.dev/own-deadline"].is_null());
  CHECK(bodies[0]["spec"] == Json{{"activeDeadlineSeconds", 86400}});
}

TEST_CASE_METHOD(Kept, "the deadline is by the cluster's clock") {
  const auto ahead = GENERATE(3h, -3h);
  status = {{"startTime", to_rfc3339(h.loop.now() + ahead)}};
  clock = ahead;
  keep();
  REQUIRE(bodies.size() == 1);
  const auto seconds = bodies[0]["spec"]["activeDeadlineSeconds"].get<int>();
  CHECK(seconds >= 3600);
  CHECK(seconds < 3700);
}
