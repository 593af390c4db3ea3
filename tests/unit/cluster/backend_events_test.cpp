// Whose events count: those of this very job, and of the Job that its launcher is.
#include "cluster/backend.h"
#include "support/catch.h"
#include "support/pods.h"
#include "unit/job_types/example.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;

namespace {

const std::string name = "digits-0123456789";

Json event(const std::string& kind, const std::string& of, const std::string& uid, const std::string& created = "2026-11-21T08:00:10Z") {
  return {{"metadata", {{"name", of + uid}, {"resourceVersion", "7"}, {"creationTimestamp", created}}},
          {"involvedObject", {{"kind", kind}, {"name", of}, {"uid", uid}}},
          {"reason", "FailedCreate"},
          {"lastTimestamp", created},
          {"message", uid}};
}

Reply list_of(const std::vector<Json>& items) {
  return Reply::text(to_text(Json{{"kind", "List"}, {"metadata", {{"resourceVersion", "9"}}}, {"items", items}}));
}

struct Following {
  Harness h;
  plan::Plan plan = job_types::test::example("MPI", 1);
  Facts facts;
  std::vector<Json> events;
  Reply launcher = refusal(404, "NotFound", "gone");
  std::vector<std::string> heard;  // messages
  std::optional<Time> last;
  std::unique_ptr<ClusterBackend> backend;

  void follow() {
    h.server.serve([this](const FakeTransport::Asked& request) {
      const auto& path = request.request.url.path;
      if (path.ends_with("/jobs/" + name + "-launcher")) return launcher;
      if (!path.ends_with("/events") || request.query("watch") == "true") return Reply::silent();
      std::vector<Json> its;
      for (const auto& one : events)
        if (request.query("fieldSelector").starts_with("involvedObject.name=" + one.at("involvedObject").at("name").get<std::string>() + ","))
          its.push_back(one);
      return list_of(its);
    });
    const Json job = {{"apiVersion", "kubeflow.org/v2beta1"},
                      {"kind", "MPIJob"},
                      {"metadata", {{"name", name}, {"uid", "ours"}, {"resourceVersion", "5"}, {"creationTimestamp", "2026-11-21T08:00:00Z"}}}};
    backend =
        std::make_unique<ClusterBackend>(*h.client, plan, facts, "ns", "attempt", Submitted{job_types::find("MPI").resources.front(), job, true});
    backend->prepare([this](const follow::Event& what) {
      if (const auto* warning = std::get_if<follow::WarningSeen>(&what.what)) {
        heard.push_back(warning->message);
        last = warning->last;
      }
    });
    h.loop.run(5s);
  }
  static Reply job(const std::string& uid, const std::string& owner) {
    return Reply::text(
        to_text(Json{{"metadata", {{"name", name + "-launcher"}, {"uid", uid}, {"ownerReferences", {{{"kind", "MPIJob"}, {"uid", owner}}}}}}}));
  }
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE_METHOD(Following, "only events of this job are used, not of others with the same name") {
  events = {event("MPIJob", name, "ours"), event("MPIJob", name, "earlier"), event("Service", name, "service"), event("Pod", name, "pod"),
            event("MPIJob", name, "")};
  follow();
  CHECK(heard == Words{"ours"});
  CHECK(last == from_rfc3339("2026-11-21T08:00:10Z"));
}

TEST_CASE_METHOD(Following, "the launcher's Job is known by its owner") {
  events = {event("Job", name + "-launcher", "now"), event("Job", name + "-launcher", "earlier")};
  SECTION("it is this job's") {
    launcher = job("now", "ours");
    follow();
    CHECK(heard == Words{"now"});
  }
  SECTION("it is an earlier job's, which is being deleted") {
    launcher = job("earlier", "another");
    follow();
    CHECK(heard == Words{});
  }
  SECTION("it is gone") {
    follow();
    CHECK(heard == Words{});
  }
}

TEST_CASE_METHOD(Following, "without permission to read Jobs, events older than this job are ignored") {
  launcher = refusal(403, "Forbidden", "jobs is forbidden");
  events = {event("Job", name + "-launcher", "earlier", "2026-11-21T07:59:59Z"), event("Job", name + "-launcher", "later", "2026-11-21T08:00:00Z")};
  follow();
  CHECK(heard == Words{"later"});
}

TEST_CASE("pod events of this job are passed on with their own times once requested") {
  Harness h;
  const auto plan = job_types::test::example("Job", 1);
  const Facts facts;
  const Json job = {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", {{"name", plan.job_name}, {"uid", "u"}, {"resourceVersion", "5"}}}};
  auto pod = test::pod(plan.job_name + "-x", "mine", test::creating());
  pod["metadata"]["labels"] = {{"batch.kubernetes.io/job-name", plan.job_name}, {"batch.kubernetes.io/controller-uid", "u"}};
  pod["metadata"]["ownerReferences"] = Json::array({{{"kind", "Job"}, {"name", plan.job_name}, {"uid", "u"}, {"controller", true}}});
  const auto happens = [](const Json& object) {
    auto again = object;
    again["metadata"]["resourceVersion"] = "10";
    return to_text(Json{{"type", "MODIFIED"}, {"object", again}}) + "\n";
  };
  int asked = 0;
  h.server.serve([&](const FakeTransport::Asked& request) {
    const bool watch = request.query("watch") == "true";
    const bool of_pods = request.query("fieldSelector") == "involvedObject.kind=Pod,type=Warning";
    if (of_pods) ++asked;
    if (of_pods && watch)
      return Reply{.pieces = {{Duration(0), happens(event("Pod", plan.job_name + "-x", "mine")) + happens(event("Pod", "another", "not ours"))}},
                   .end = Reply::End::open};
    if (watch) return Reply::silent();
    if (of_pods) {
      auto undated = event("Pod", plan.job_name + "-x", "mine", "");
      undated["reason"] = "Undated";
      auto later = event("Pod", plan.job_name + "-x", "mine", "2026-11-21T07:59:00Z");
      later["reason"] = "Later";
      const auto earlier = event("Pod", plan.job_name + "-x", "mine", "2026-11-21T07:00:00Z");
      return list_of({undated, later, earlier, event("Pod", plan.job_name + "-x", "of an earlier pod")});
    }
    return list_of(request.request.url.path.ends_with("/pods") ? std::vector{pod} : std::vector<Json>{});
  });
  std::vector<std::string> heard;
  ClusterBackend backend(*h.client, plan, facts, "ns", "attempt", Submitted{job_types::find("Job").resources.front(), job, true});
  backend.prepare([&](const follow::Event& what) {
    if (const auto* warning = std::get_if<follow::PodWarningSeen>(&what.what))
      heard.push_back(warning->uid + " " + warning->reason + " " + (warning->last ? to_rfc3339(*warning->last) : "now"));
  });
  h.loop.run(5s);
  CHECK(asked == 0);
  backend.watch_pod_events();
  h.loop.run(5s);
  CHECK(asked == 2);
  CHECK(heard == Words{"mine FailedCreate 2026-11-21T07:00:00Z", "mine Later 2026-11-21T07:59:00Z", "mine FailedCreate now"});
}
