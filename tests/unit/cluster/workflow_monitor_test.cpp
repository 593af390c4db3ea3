// SPDX-License-Identifier: Apache-2.0
#include "cluster/workflow_monitor.h"

#include <algorithm>

#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;

namespace {

const std::string completed = "workflows.argoproj.io/completed";

// A step's pod and Workflow as the API server has them; watches stay open and silent.
struct Life {
  Harness h;
  Facts facts;
  Json pod = {{"metadata", {{"name", "step-1"}, {"uid", "p"}, {"resourceVersion", "5"}}}};
  Json workflow = {{"metadata", {{"name", "wf"}, {"uid", "w"}, {"resourceVersion", "5"}}}};
  Reply answer = Reply::silent();  // to a GET of our pod, from the first SIGTERM on
  bool workflow_silent = false;    // … to a list of Workflows
  std::string refused;             // what may not be listed, nor watched
  bool may_get = true;             // the Workflow by its name
  int stale_lists = 0;             // so many lists of Workflows are empty, though it is there
  bool asking = false;
  bool pod_gone = false;  // a GET by name does not find it
  std::string told;       // what a watch of Workflows brings at its beginning
  std::vector<std::string> cancels;
  std::unique_ptr<WorkflowMonitor> life;
  std::optional<std::optional<std::string>> why;

  Life() {
    facts.name_space = "ns";
    facts.pod = "step-1";
    facts.pod_uid = "p";
    facts.workflow = Workflow{"argoproj.io/v1alpha1", "wf", "w"};
  }
  void begin() {
    h.server.serve([this](const FakeTransport::Asked& asked) {
      if (asked.request.url.path.ends_with("/step-1"))
        return asking ? answer : pod_gone ? refusal(404, "NotFound", "gone", {{"name", "step-1"}, {"kind", "pods"}}) : Reply::text(to_text(pod));
      if (asked.request.url.path.ends_with("/workflows/wf")) return workflow_by_name();
      if (asked.query("watch") == "true" && asked.request.url.path.ends_with("/workflows") && !told.empty())
        return Reply{.pieces = {{Duration(0), std::exchange(told, "")}}, .end = Reply::End::open};
      if (asked.query("watch") == "true") return Reply{.end = Reply::End::open};
      if (!refused.empty() && asked.request.url.path.ends_with(refused)) return refusal(403, "Forbidden", "no");
      if (asking && workflow_silent && asked.request.url.path.ends_with("/workflows")) return Reply::silent();
      const auto& item = asked.request.url.path.ends_with("/pods") ? pod : workflow;
      const bool stale = asked.request.url.path.ends_with("/workflows") && stale_lists > 0 && stale_lists-- > 0;
      const auto items = item.is_null() || stale ? Json::array() : Json::array({shown(asked.request, item)});
      return Reply::text(to_text({{"kind", "List"}, {"apiVersion", "v1"}, {"metadata", {{"resourceVersion", "7"}}}, {"items", items}}));
    });
    life = std::make_unique<WorkflowMonitor>(*h.client, facts, [this](const std::string& what) { cancels.push_back(what); });
    h.loop.run(5s);
  }
  // Who asks for metadata gets nothing else.
  static Json shown(const http::Request& request, Json item) {
    const auto partial =
        std::ranges::any_of(request.headers, [](const auto& header) { return header.value.find("PartialObjectMetadata") != std::string::npos; });
    return partial ? Json{{"metadata", item["metadata"]}} : std::move(item);
  }
  Reply workflow_by_name() const {
    if (!may_get) return refusal(403, "Forbidden", "no");
    if (workflow_silent && asking) return Reply::silent();
    return workflow.is_null() ? refusal(404, "NotFound", "gone", {{"name", "wf"}, {"kind", "workflows"}}) : Reply::text(to_text(workflow));
  }
  // Whether the SIGTERM that comes now is an eviction, and how long it took to know.
  std::pair<bool, Duration> ask() {
    const auto begin = h.loop.now();
    Duration took{-1};
    asking = true;
    life->ask_why([&](std::optional<WorkflowMonitor::Eviction> eviction) {
      why.emplace(eviction ? std::optional(eviction->what) : std::nullopt);
      took = h.loop.now() - begin;
    });
    h.loop.run(20s);
    REQUIRE(why);
    return {why->has_value(), took};
  }
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE_METHOD(Life, "a step whose pod or Workflow is labelled completed is cancelled, once") {
  SECTION("pod") { pod["metadata"]["labels"][completed] = "true"; }
  SECTION("Workflow") { workflow["metadata"]["labels"][completed] = "true"; }
  SECTION("both") { pod["metadata"]["labels"][completed] = workflow["metadata"]["labels"][completed] = "true"; }
  SECTION("a Workflow that is being deleted") { workflow["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"; }
  SECTION("a Workflow that has gone") { workflow = nullptr; }
  begin();
  CHECK(cancels.size() == 1);
  CHECK(ask() == std::pair{false, Duration{0}});
}

TEST_CASE_METHOD(Life, "an old word of a watch that has hung does not end a Workflow that was tried again since") {
  auto old = workflow;
  old["metadata"]["labels"][completed] = "true";
  told = to_text(Json{{"type", "MODIFIED"}, {"object", old}}) + "\n";
  begin();
  CHECK(cancels.empty());
}

TEST_CASE_METHOD(Life, "a lost pod is labelled completed, too: that is not a cancel while its Workflow continues") {
  pod["metadata"]["labels"][completed] = "true";
  SECTION("deleted") { pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"; }
  SECTION("evicted by the kubelet") { pod["status"] = {{"phase", "Failed"}, {"reason", "Evicted"}}; }
  SECTION("of a lost node") {
    pod["status"] = {{"phase", "Failed"},
                     {"conditions", Json::array({{{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "DeletionByPodGC"}}})}};
  }
  SECTION("gone") { pod_gone = true; }
  begin();
  h.loop.run(1min);
  CHECK(cancels.empty());
  answer = pod_gone ? refusal(404, "NotFound", "gone", {{"name", "step-1"}, {"kind", "pods"}}) : Reply::text(to_text(pod));
  CHECK(ask().first);
  CHECK(cancels.empty());
}

TEST_CASE_METHOD(Life, "a completed pod that is deleted because its Workflow is stopped is cancelled before the signal") {
  pod["metadata"]["labels"][completed] = "true";
  pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  workflow["spec"]["shutdown"] = "Terminate";
  begin();
  CHECK(cancels == Words{"the workflow is being stopped"});
}

TEST_CASE_METHOD(Life, "a list without the Workflow does not prove that it is gone: a GET by name follows") {
  stale_lists = 1;
  SECTION("at the beginning") {}
  SECTION("by a step that may only list") {
    may_get = false;
    stale_lists = GENERATE(1, 3);
  }
  begin();
  h.loop.run(1min);
  CHECK(cancels.empty());
}

TEST_CASE_METHOD(Life, "with list permission only, several lists in a row show that the Workflow is gone") {
  may_get = false;
  workflow = nullptr;
  begin();
  h.loop.run(1min);
  CHECK(cancels == Words{"the workflow was deleted"});
}

TEST_CASE_METHOD(Life, "a gateway's 404 deletes no Workflow") {
  h.server.serve([](const FakeTransport::Asked& asked) {
    if (asked.query("watch") == "true") return Reply{.end = Reply::End::open};
    if (!asked.request.url.path.ends_with("s")) return Reply::text("<html>default backend - 404</html>", 404);
    return Reply::text(to_text({{"kind", "List"}, {"metadata", {{"resourceVersion", "7"}}}, {"items", Json::array()}}));
  });
  life = std::make_unique<WorkflowMonitor>(*h.client, facts, [this](const std::string& what) { cancels.push_back(what); });
  h.loop.run(10min);
  CHECK(cancels.empty());
}

TEST_CASE_METHOD(Life, "a stale list at a SIGTERM does not turn an eviction into a cancel") {
  begin();
  pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  answer = Reply::text(to_text(pod));
  stale_lists = 1;
  CHECK(ask().first);
  CHECK(cancels.empty());
}

TEST_CASE_METHOD(Life, "another pod with our name is ignored") {
  pod["metadata"]["uid"] = "other";
  pod["metadata"]["labels"][completed] = "true";
  begin();
  CHECK(cancels.empty());
}

TEST_CASE_METHOD(Life, "a SIGTERM is an eviction when our pod is deleted or ended by its node, and the Workflow is read to live on") {
  SECTION("deleted") { pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"; }
  SECTION("evicted by the kubelet") { pod["status"] = {{"phase", "Failed"}, {"reason", "Evicted"}}; }
  SECTION("a node that is shut down") {
    pod["status"]["conditions"] = Json::array({{{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "TerminationByKubelet"}}});
  }
  SECTION("under KFP's launcher, within 30 ms") {
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    facts.launcher = true;
  }
  begin();
  CHECK(cancels.empty());
  answer = Reply::text(to_text(pod));
  const auto [eviction, took] = ask();
  CHECK(eviction);
  CHECK(took < 30ms);
}

TEST_CASE_METHOD(Life, "a pod that may be read, but not watched, is seen to be deleted") {
  refused = "/pods";
  begin();
  pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  answer = Reply::text(to_text(pod));
  CHECK(ask().first);
}

TEST_CASE_METHOD(Life, "a pod that has gone, or is another of the same name, was deleted") {
  begin();
  SECTION("gone") { answer = refusal(404, "NotFound", "gone", {{"name", "step-1"}, {"kind", "pods"}}); }
  SECTION("recreated") {
    pod["metadata"]["uid"] = "other";
    answer = Reply::text(to_text(pod));
  }
  CHECK(ask().first);
}

TEST_CASE_METHOD(Life, "what caused a SIGTERM is waited for") {
  begin();
  answer = Reply::text(to_text(pod));
  SECTION("an eviction") {
    h.loop.after(3s, [this] {
      pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
      answer = Reply::text(to_text(pod));
    });
    const auto [eviction, took] = ask();
    CHECK(eviction);
    CHECK(took < 3500ms);
  }
  SECTION("the Workflow's end") {
    h.loop.after(3s, [this] { workflow["metadata"]["labels"][completed] = "true"; });
    const auto [eviction, took] = ask();
    CHECK_FALSE(eviction);
    CHECK(took < 3500ms);
    CHECK(cancels == Words{"the workflow has ended"});
  }
}

TEST_CASE_METHOD(Life, "a Workflow that has ended meanwhile has had its pods deleted: that is a cancel") {
  begin();
  pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  answer = Reply::text(to_text(pod));
  SECTION("deleted") { workflow = nullptr; }
  SECTION("another of its name") { workflow["metadata"]["uid"] = "other"; }
  SECTION("labelled") { workflow["metadata"]["labels"][completed] = "true"; }
  CHECK_FALSE(ask().first);
  CHECK(cancels.size() == 1);
}

// Argo's own rule (operator.go, processNodeRetries): after a shutdown or the deadline no node is tried again, whatever its labels say yet.
TEST_CASE_METHOD(Life, "a Workflow that is being stopped or is past its deadline starts no other attempt, so that is a cancel") {
  std::string what = "the workflow is being stopped";
  const auto began = to_rfc3339(h.loop.now() - 1h);
  SECTION("terminated") { workflow["spec"]["shutdown"] = "Terminate"; }
  SECTION("stopped") { workflow["spec"]["shutdown"] = "Stop"; }
  SECTION("terminated by Kubeflow Pipelines") {
    workflow["spec"]["activeDeadlineSeconds"] = 0;
    workflow["status"]["startedAt"] = began;
    what = "the workflow's deadline was exceeded";
  }
  SECTION("it has run too long") {
    workflow["spec"]["activeDeadlineSeconds"] = 3600;
    workflow["status"]["startedAt"] = began;
    what = "the workflow's deadline was exceeded";
  }
  SECTION("by its template's deadline") {
    workflow["status"] = {{"startedAt", began}, {"storedWorkflowTemplateSpec", {{"activeDeadlineSeconds", 60}}}};
    what = "the workflow's deadline was exceeded";
  }
  SECTION("terminated, and not in the list") {
    workflow["spec"]["shutdown"] = "Terminate";
    stale_lists = 1000;
  }
  begin();
  CHECK(cancels.empty());
  pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  answer = Reply::text(to_text(pod));
  const auto [eviction, took] = ask();
  CHECK_FALSE(eviction);
  CHECK(took < 300ms);
  CHECK(cancels == Words{what});
}

TEST_CASE_METHOD(Life, "a Workflow before its deadline, or not started, continues") {
  workflow["spec"]["activeDeadlineSeconds"] = 3700;
  SECTION("it runs") { workflow["status"]["startedAt"] = to_rfc3339(h.loop.now() - 1h); }
  SECTION("it has not begun") { workflow["spec"]["activeDeadlineSeconds"] = 0; }
  SECTION("it was written by an unknown writer") {
    workflow["spec"] = {{"shutdown", ""}, {"activeDeadlineSeconds", "soon"}};
    workflow["status"] = "odd";
  }
  SECTION("it was reverted") { workflow["spec"] = {{"shutdown", nullptr}, {"activeDeadlineSeconds", nullptr}}; }
  begin();
  pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  answer = Reply::text(to_text(pod));
  CHECK(ask().first);
  CHECK(cancels.empty());
}

TEST_CASE_METHOD(Life, "in doubt a SIGTERM is a cancel: after a third of the grace, 10 s at most, and at once if it cannot be known") {
  Duration expected{10'000};
  SECTION("no response") {}
  SECTION("the pod may not be read") { answer = refusal(403, "Forbidden", "no"); }
  SECTION("the Workflow may not be seen") {
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    answer = Reply::text(to_text(pod));
    refused = "/workflows";
    expected = 0ms;
  }
  SECTION("the API server is overloaded") { answer = refusal(503, "ServiceUnavailable", "no"); }
  SECTION("nothing is to be seen") { answer = Reply::text(to_text(pod)); }
  SECTION("whether the Workflow lives is not known") {
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    answer = Reply::text(to_text(pod));
    workflow_silent = true;
  }
  SECTION("a short grace") {
    facts.grace = 6s;
    expected = 2s;
  }
  SECTION("KFP's launcher") {
    facts.launcher = true;
    expected = 30ms;
  }
  begin();
  CHECK(ask() == std::pair{false, expected});
}

TEST_CASE_METHOD(Life, "on hurry() a pending question is answered at once") {
  begin();
  CHECK_FALSE(life->hurry());
  bool answered = false;
  life->ask_why([&](std::optional<WorkflowMonitor::Eviction> eviction) { answered = !eviction; });
  CHECK_FALSE(answered);
  CHECK(life->hurry());
  CHECK(answered);
}

TEST_CASE_METHOD(Life, "a label set in the meantime reveals the cancel") {
  begin();
  pod["metadata"]["labels"][completed] = "true";
  answer = Reply::text(to_text(pod));
  CHECK_FALSE(ask().first);
  CHECK(cancels.size() == 1);
}

TEST_CASE_METHOD(Life, "without a Workflow an eviction cannot be distinguished from a cancel") {
  facts.workflow.reset();
  begin();
  answer = Reply::text(to_text(pod));
  CHECK(ask() == std::pair{false, Duration{0}});
}
