// Whose word counts for the end of a pod: the program's, its container's, the pod's.
// SPDX-License-Identifier: Apache-2.0
#include "follow/termination.h"

#include <optional>
#include <string>

#include "result/pod_report.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::follow;
using job_types::ContainerStateTerminated;
using job_types::ContainerView;
using job_types::PodView;

namespace {

struct Row {
  std::string what;
  std::optional<ContainerStateTerminated> termination;
  PodView pod;
  std::string reason;
  bool disrupted;
};

ContainerStateTerminated ended(int code, const std::string& reason, const std::string& message = "") {
  ContainerStateTerminated termination;
  termination.exit_code = code;
  termination.reason = reason;
  termination.message = message;
  return termination;
}

PodView pod(const std::string& reason = "", const std::string& message = "", const std::string& disruption = "") {
  PodView view;
  view.phase = "Failed";
  view.reason = reason;
  view.message = message;
  view.disruption = disruption;
  return view;
}

ContainerView init(const std::string& name, int code, const std::string& reason = "Error") {
  ContainerView container;
  container.name = name;
  container.state = ContainerView::State::terminated;
  container.termination = ended(code, reason);
  return container;
}

}  // namespace

TEST_CASE("the reason of a pod's end is the container's, unless the pod was evicted or the container has none") {
  const Row rows[] = {
      {"the program's own failure says nothing beyond its code", ended(1, "Error"), pod(), "", false},
      {"out of memory", ended(137, "OOMKilled"), pod(), "OOMKilled", false},
      {"out of memory, while its node was drained", ended(137, "OOMKilled"), pod("", "", "EvictionByEvictionAPI"), "OOMKilled", false},
      {"the container's own reason beside one of the pod", ended(137, "OOMKilled"), pod("DeadlineExceeded", "x"), "OOMKilled", false},
      {"the pod's reason where the container has none", ended(1, "Error"), pod("DeadlineExceeded", " was active too long\n"),
       "DeadlineExceeded: was active too long", false},
      {"the pod's reason without a message", ended(1, "Error"), pod("DeadlineExceeded"), "DeadlineExceeded", false},
      {"evicted", ended(137, "Error"), pod("Evicted", "low on memory"), "Evicted: low on memory", true},
      {"drained", ended(143, "Error"), pod("", "", "EvictionByEvictionAPI"), "its node was drained (EvictionByEvictionAPI)", true},
      {"preempted", ended(143, "Error"), pod("", "", "PreemptionByScheduler"), "preempted by a pod of higher priority (PreemptionByScheduler)", true},
      {"a disruption that is not known", ended(143, "Error"), pod("", "", "Moved"), "Moved", true},
      {"evicted, whatever the container says", ended(1, "DeadlineExceeded"), pod("Evicted"), "Evicted", true},
      {"could not start", ended(128, "StartError", "exec: \"x\": not found\n"), pod(), "StartError: exec: \"x\": not found", false},
      {"could not run", ended(127, "ContainerCannotRun", "no such file"), pod(), "ContainerCannotRun: no such file", false},
      {"could not start, without a reason", ended(128, "StartError"), pod(), "StartError", false},
      {"what the program left as its message is not the reason", ended(1, "Weird", "bye"), pod(), "Weird", false},
      {"never began", std::nullopt, pod("OutOfcpu", "not enough cpu"), "OutOfcpu: not enough cpu", true},
      {"its node did not take it", std::nullopt, pod("TopologyAffinityError", "Resources cannot be allocated with Topology locality"),
       "TopologyAffinityError: Resources cannot be allocated with Topology locality", true},
      {"it has used more disk than it may", ended(137, "Error"), pod("Evicted", "Usage of EmptyDir volume \"scratch\" exceeds the limit \"1Gi\". "),
       "Evicted: Usage of EmptyDir volume \"scratch\" exceeds the limit \"1Gi\".", false},
      {"one of its containers has", ended(137, "Error"), pod("Evicted", "Container train exceeded its local ephemeral storage limit \"2Gi\". "),
       "Evicted: Container train exceeded its local ephemeral storage limit \"2Gi\".", false},
      {"its node has no disk left", ended(137, "Error"), pod("Evicted", "The node was low on resource: ephemeral-storage. "),
       "Evicted: The node was low on resource: ephemeral-storage.", true},
      {"its node is lost, its container was never seen to end", std::nullopt, pod(), "", false},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    const auto ending = termination_of(row.pod, row.termination ? &*row.termination : nullptr);
    CHECK(ending.reason == row.reason);
    CHECK(ending.disrupted == row.disrupted);
    CHECK_FALSE(ending.succeeded());
    CHECK(ending.vanished == !row.termination);
  }
}

TEST_CASE("a success has no reason, whatever became of the pod") {
  const auto completed = ended(0, "Completed");
  const auto ending = termination_of(pod("Evicted", "later", "EvictionByEvictionAPI"), &completed);
  CHECK(ending.succeeded());
  CHECK(ending.reason.empty());
  CHECK_FALSE(ending.disrupted);
  auto succeeded = pod();
  succeeded.phase = "Succeeded";
  CHECK(termination_of(succeeded, nullptr).succeeded());
}

TEST_CASE("an unobserved end has no code and no signal") {
  auto unknown = ended(137, "ContainerStatusUnknown");
  unknown.signal = 9;
  const auto ending = termination_of(pod(), &unknown);
  CHECK(ending.vanished);
  CHECK_FALSE(ending.signal);
  CHECK(ending.reason == "ContainerStatusUnknown");
}

TEST_CASE("an agent's report takes precedence over its container's reason, but not over the pod's eviction") {
  result::PodReport report;
  report.exit_code = 3;
  report.verdict_class = result::VerdictClass::input;
  report.message = "input data: no such key";
  const auto told = ended(3, "OOMKilled", result::to_text(report));
  const auto ending = termination_of(pod(), &told);
  CHECK(ending.reason == "input data: no such key");
  CHECK(ending.agent_class == result::VerdictClass::input);
  CHECK(termination_of(pod("Evicted", "disk"), &told).reason == "Evicted: disk");
}

TEST_CASE("an init container that failed is named, the first of them, and not one that runs again or is a sidecar") {
  auto view = pod();
  view.init_containers = {init("fine", 0, "Completed"), init("fetch", 2), init("later", 3)};
  CHECK(termination_of(view, nullptr).reason == "init container fetch failed");
  CHECK(termination_of(view, nullptr).exit_code == 2);
  CHECK_FALSE(termination_of(view, nullptr).vanished);
  view.init_containers[1].termination->reason = "OOMKilled";
  CHECK(termination_of(view, nullptr).reason == "init container fetch failed: OOMKilled");
  CHECK(termination_of(view, nullptr).init_container == "fetch");
  CHECK(termination_of(view, nullptr).cause == Termination::Cause::oom_killed);
  view.init_containers[1].sidecar = true;
  CHECK(failed_init_container(view)->name == "later");
  view.init_containers[2].state = ContainerView::State::running;
  CHECK(failed_init_container(view) == nullptr);
  SECTION("while it waits for its next attempt, the last one is used") {
    view.init_containers[2].state = ContainerView::State::waiting;
    view.init_containers[2].last = std::exchange(view.init_containers[2].termination, std::nullopt);
    REQUIRE(failed_init_container(view));
    CHECK(failed_init_container(view)->name == "later");
  }
  SECTION("once the program itself has ended, its termination is used") {
    view.init_containers = {init("fetch", 2)};
    const auto program = ended(1, "Error");
    CHECK(termination_of(view, &program).reason.empty());
    CHECK(termination_of(view, &program).exit_code == 1);
  }
}

TEST_CASE("a deleted pod was stopped by the deletion, unless it ended otherwise") {
  auto view = pod();
  const auto killed = ended(143, "Error");
  CHECK_FALSE(stopped_by_deletion(view, termination_of(view, &killed)));
  view.deleting = true;
  CHECK(stopped_by_deletion(view, termination_of(view, &killed)));
  const auto memory = ended(137, "OOMKilled");
  CHECK_FALSE(stopped_by_deletion(view, termination_of(view, &memory)));
  const auto completed = ended(0, "Completed");
  CHECK_FALSE(stopped_by_deletion(view, termination_of(view, &completed)));
  view.disruption = "EvictionByEvictionAPI";
  CHECK_FALSE(stopped_by_deletion(view, termination_of(view, &killed)));
}
