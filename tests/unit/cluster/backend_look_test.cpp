// What a list or a silent watch does not show is asked for.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/backend.h"
#include "follow/reasons.h"
#include "support/catch.h"
#include "support/pods.h"
#include "unit/job_types/example.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;

namespace {

// A job and its pod, as a server has them whose lists may be stale and whose watches tell nothing.
struct Looking {
  Harness h;
  plan::Plan plan = job_types::test::example("Job", 1);
  Facts facts;
  Json job = {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", {{"name", plan.job_name}, {"uid", "u"}, {"resourceVersion", "5"}}}};
  Json pod;
  Json failed_pod;  // behind it in lists
  std::vector<std::string> order;
  int stale_jobs = 0, stale_pods = 0;  // so many lists are empty, although the object is there
  int absences = 0;                    // so many answers to who asks for the job are that there is none
  std::optional<Reply> by_name;        // … and then this one; unset: as it is
  std::string list_version = "9";
  std::deque<Reply> refused_pods;  // answers to who lists them
  int listed = 0, failed = 0;
  Reply::End watches = Reply::End::open;
  int gone = 0, pods_seen = 0, pods_gone = 0, asked = 0;
  std::vector<job_types::Judgement> seen;
  std::unique_ptr<ClusterBackend> backend;

  Looking() {
    pod = test::pod(plan.job_name + "-x", "p", test::runs());
    pod["metadata"]["labels"] = {{"batch.kubernetes.io/job-name", plan.job_name}, {"batch.kubernetes.io/controller-uid", "u"}};
    pod["metadata"]["ownerReferences"] = Json::array({{{"kind", "Job"}, {"name", plan.job_name}, {"uid", "u"}, {"controller", true}}});
  }
  Reply answer(const FakeTransport::Asked& request) {
    const auto& path = request.request.url.path;
    if (request.query("watch") == "true") return Reply{.end = watches};
    if (path.ends_with("/log")) return Reply{.end = Reply::End::open};
    if (path.ends_with(plan.job_name)) {
      ++asked;
      const bool unknown = absences > 0 && absences-- > 0;
      if (by_name && !unknown) return *by_name;
      if (job.is_null() || unknown) return refusal(404, "NotFound", "gone", {{"name", plan.job_name}, {"kind", "jobs"}});
      return Reply::text(to_text(job));
    }
    if (path.ends_with("/pods") && !refused_pods.empty() && backend) {
      auto reply = refused_pods.front();
      refused_pods.pop_front();
      return reply;
    }
    Json items = Json::array();
    if (path.ends_with("/jobs") && !job.is_null() && !(stale_jobs > 0 && stale_jobs-- > 0)) items.push_back(job);
    if (path.ends_with("/pods") && !pod.is_null() && !(stale_pods > 0 && stale_pods-- > 0)) items.push_back(pod);
    if (path.ends_with("/pods") && !failed_pod.is_null()) items.push_back(failed_pod);
    return Reply::text(to_text({{"kind", "List"}, {"metadata", {{"resourceVersion", list_version}}}, {"items", items}}));
  }
  void follow(Duration length = 30s) {
    h.server.serve([this](const FakeTransport::Asked& request) { return answer(request); });
    backend =
        std::make_unique<ClusterBackend>(*h.client, plan, facts, "ns", "attempt", Submitted{job_types::find("Job").resources.front(), job, true});
    backend->prepare([this](const follow::Event& event) {
      if (const auto* state = std::get_if<follow::JobSeen>(&event.what)) seen.push_back(state->judgement);
      if (std::holds_alternative<follow::JobGone>(event.what)) ++gone;
      if (const auto* state = std::get_if<follow::PodSeen>(&event.what)) order.push_back(state->pod.uid), ++pods_seen;
      if (std::holds_alternative<follow::PodsListed>(event.what)) ++listed;
      if (std::holds_alternative<follow::BackendFailed>(event.what)) ++failed;
      if (std::holds_alternative<follow::PodGone>(event.what)) ++pods_gone;
    });
    h.loop.run(length);
  }
};

}  // namespace

TEST_CASE_METHOD(Looking, "a job missing from a list is gone only if a GET by name confirms it") {
  stale_jobs = 1;
  bool is_gone = false;
  SECTION("it is there") {}
  SECTION("a gateway's 404") { by_name = Reply::text("<html>default backend - 404</html>", 404); }
  SECTION("its resource is not served at the moment") { by_name = refusal(404, "NotFound", "the server could not find the requested resource"); }
  SECTION("an answer without an object") { by_name = Reply::text("{}"); }
  SECTION("two responses of a lagging server") { absences = 2; }
  SECTION("gone") {
    by_name = refusal(404, "NotFound", "gone", {{"name", plan.job_name}, {"kind", "jobs"}});
    is_gone = true;
  }
  SECTION("a lagging server still has the earlier job of that name") {
    by_name = Reply::text(to_text({{"metadata", {{"name", plan.job_name}, {"uid", "earlier"}, {"resourceVersion", "3"}}}}));
  }
  SECTION("another one has its name") {
    by_name = Reply::text(to_text({{"metadata", {{"name", plan.job_name}, {"uid", "other"}}}}));
    is_gone = true;
  }
  follow();
  CHECK(asked > 0);
  CHECK(asked < 12);
  CHECK(gone == (is_gone ? 1 : 0));
}

TEST_CASE_METHOD(Looking, "failed pods of an adopted job are reported first, so that their logs are read whatever their names") {
  failed_pod = pod;
  failed_pod["metadata"]["name"] = plan.job_name + "-y";
  failed_pod["metadata"]["uid"] = "q";
  failed_pod["status"] = test::failed(137);
  follow();
  CHECK(order == std::vector<std::string>{"q", "p"});
}

TEST_CASE_METHOD(Looking, "a pod is gone when two lists in a row do not contain it") {
  watches = Reply::End::whole;  // so that there are lists
  follow(10s);
  REQUIRE(pods_seen > 0);
  stale_pods = GENERATE(0, 1);
  if (stale_pods == 0) pod = nullptr;
  const bool is_gone = pod.is_null();
  h.loop.run(3min);
  CHECK(pods_gone == (is_gone ? 1 : 0));
}

TEST_CASE_METHOD(Looking, "the end of a pod triggers a read of the job if its watch is silent") {
  pod["status"] = test::succeeded();
  follow(1s);
  job["status"]["conditions"] = Json::array({{{"type", "Complete"}, {"status", "True"}}});
  h.loop.run(20s);
  REQUIRE_FALSE(seen.empty());
  CHECK(seen.back().state == job_types::Judgement::State::succeeded);
  const auto before = asked;
  h.loop.run(9min);
  CHECK(asked == before);
}

TEST_CASE_METHOD(Looking, "a job that is being deleted says by what it is held") {
  job["metadata"]["deletionTimestamp"] = "2026-11-21T08:00:00Z";
  job["metadata"]["finalizers"] = {"foregroundDeletion", "example.com/backup"};
  follow();
  REQUIRE_FALSE(seen.empty());
  CHECK(seen.back().reason == follow::being_deleted);
  CHECK(seen.back().message == "foregroundDeletion, example.com/backup");
}

TEST_CASE_METHOD(Looking, "lists older than a pod do not prove that it is gone") {
  pod["metadata"]["resourceVersion"] = "101";
  list_version = "99";
  watches = Reply::End::whole;  // so that there are lists
  follow(10s);
  REQUIRE(pods_seen > 0);
  stale_pods = 4;
  h.loop.run(20s);
  list_version = "103";
  h.loop.run(3min);
  CHECK(pods_gone == 0);
  pod = nullptr;
  h.loop.run(3min);
  CHECK(pods_gone == 1);
}

TEST_CASE_METHOD(Looking, "a state older than a known one is not reported: no end is reverted") {
  job["metadata"]["resourceVersion"] = "101";
  job["status"]["conditions"] = Json::array({{{"type", "Complete"}, {"status", "True"}}});
  watches = Reply::End::whole;
  follow(10s);
  REQUIRE_FALSE(seen.empty());
  const auto before = seen.size();
  job["metadata"]["resourceVersion"] = "99";
  job.erase("status");
  h.loop.run(10s);
  CHECK(seen.size() == before);
}

TEST_CASE_METHOD(Looking, "if the job has ended, refused lists of pods are repeated for a minute") {
  follow(5s);
  const auto reply = GENERATE(refusal(403, "Forbidden", R"(pods is forbidden: User "x" cannot list resource "pods")"),
                              Reply::text("<html>not found</html>", 404), Reply::text("", 302));
  const bool for_ever = GENERATE(true, false);
  refused_pods.assign(for_ever ? 1'000 : 4, reply);
  backend->refresh();
  h.loop.run(5min);
  CHECK(listed == (for_ever ? 0 : 1));
  CHECK(failed == (for_ever ? 1 : 0));
}

TEST_CASE_METHOD(Looking, "if the pods have ended, rejected reads of the job are repeated") {
  follow(5s);
  by_name = GENERATE(refusal(403, "Forbidden", R"(jobs.batch is forbidden: User "x" cannot get resource "jobs")"), Reply::text("<html>", 404),
                     Reply::text("", 302));
  h.loop.after(4s, [this] { by_name.reset(); });
  backend->refresh();
  h.loop.run(5min);
  CHECK(listed == 1);
  CHECK(failed == 0);
}

TEST_CASE_METHOD(Looking, "a list of pods that is older than the job's end is asked for again, for some seconds") {
  stale_pods = 100;
  list_version = "9";
  follow(5s);
  CHECK(pods_seen == 0);
  job["metadata"]["resourceVersion"] = "20";
  const bool for_ever = GENERATE(true, false);
  if (!for_ever)
    h.loop.after(3s, [this] {
      stale_pods = 0;
      list_version = "21";
    });
  backend->refresh();
  h.loop.run(1min);
  CHECK(listed == 1);
  CHECK((pods_seen > 0) == !for_ever);
}
