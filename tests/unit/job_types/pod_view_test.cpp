#include "job_types/pod_view.h"

#include <csignal>

#include "support/catch.h"
#include "support/pods.h"

using namespace trainstep;
using namespace trainstep::job_types;
using State = ContainerView::State;

namespace {

PodView read(Json status) { return read_pod(test::pod("train-1-worker-0", "uid-1", std::move(status))); }

const ContainerView& only(const PodView& pod) {
  REQUIRE(pod.containers.size() == 1);
  return pod.containers.front();
}

}  // namespace

TEST_CASE("a pod is known by name, uid, age, node and phase") {
  const auto pod = read(test::runs());
  CHECK(pod.name == "train-1-worker-0");
  CHECK(pod.uid == "uid-1");
  CHECK(pod.created == from_rfc3339("2026-11-21T08:00:00Z"));
  CHECK(pod.node == "node-1");
  CHECK(pod.phase == "Running");
  CHECK_FALSE(pod.over());
  CHECK_FALSE(pod.deleting);
  CHECK_FALSE(pod.disrupted());
  CHECK(only(pod).state == State::running);
  CHECK(only(pod).started == from_rfc3339("2026-11-21T08:00:05Z"));
}

TEST_CASE("a terminating pod is recognised") {
  auto object = test::pod("a", "1", test::runs());
  object["metadata"]["deletionTimestamp"] = "2026-11-21T08:02:00Z";
  CHECK(read_pod(object).deleting);
}

TEST_CASE("why a pod has no place is the scheduler's message, and only while it has none") {
  CHECK(read_pod(test::pod("a", "1", test::unscheduled(), "")).unschedulable == "0/5 nodes are available: 5 Insufficient cpu.");
  const auto gated = read_pod(test::pod("a", "1",
                                        {{"phase", "Pending"},
                                         {"conditions", Json::array({test::condition("PodScheduled", "False", "SchedulingGated",
                                                                                     "Scheduling is blocked due to non-empty scheduling gates")})}},
                                        ""));
  CHECK(gated.unschedulable == "Scheduling is blocked due to non-empty scheduling gates");
  CHECK(read(test::with_condition(test::runs(), test::condition("PodScheduled", "True"))).unschedulable.empty());
  CHECK(read(test::with_condition(test::runs(), test::condition("Ready", "False", "ContainersNotReady", "no"))).unschedulable.empty());
}

TEST_CASE("a waiting container has a reason and a message") {
  const auto pod = read(test::status("Pending", Json::array({test::container(test::waiting("ErrImagePull", "not found"))})));
  CHECK(only(pod).state == State::waiting);
  CHECK(only(pod).reason == "ErrImagePull");
  CHECK(only(pod).message == "not found");
  CHECK_FALSE(only(pod).termination);
}

TEST_CASE("a restarting container shows the termination of the previous attempt") {
  const auto pod = read(test::crash_loop(2, 3));
  CHECK(only(pod).state == State::waiting);
  CHECK(only(pod).reason == "CrashLoopBackOff");
  CHECK(only(pod).restarts == 2);
  REQUIRE(only(pod).last);
  CHECK(only(pod).last->exit_code == 3);
  CHECK(only(pod).last->finished == from_rfc3339("2026-11-21T08:01:00Z"));
}

TEST_CASE("an exit code of 128 + a fatal signal is that signal: container runtimes cannot express it otherwise") {
  struct Row {
    int code;
    std::optional<int> signal;
  };
  const Row rows[] = {{0, {}},       {1, {}},       {2, {}},        {127, {}},      {128, {}},      {130, SIGINT}, {132, SIGILL}, {134, SIGABRT},
                      {135, SIGBUS}, {136, SIGFPE}, {137, SIGKILL}, {139, SIGSEGV}, {143, SIGTERM}, {129, {}},     {192, {}},     {255, {}}};
  for (const auto& row : rows) {
    CAPTURE(row.code);
    const auto pod = read(test::failed(row.code));
    REQUIRE(only(pod).termination);
    CHECK(only(pod).termination->exit_code == row.code);
    CHECK(only(pod).termination->signal == row.signal);
  }
  auto told = test::failed(1);
  told["containerStatuses"][0]["state"]["terminated"]["signal"] = 6;
  CHECK(only(read(told)).termination->signal == SIGABRT);
}

TEST_CASE("out of memory is recognised by its reason") {
  const auto pod = read(test::failed(137, "OOMKilled"));
  REQUIRE(only(pod).termination);
  CHECK(only(pod).termination->reason == "OOMKilled");
  CHECK(only(pod).termination->signal == SIGKILL);
  CHECK_FALSE(pod.disrupted());
  CHECK(pod.over());
}

TEST_CASE("what ended a pod from outside is a disruption") {
  CHECK(read(test::evicted()).disrupted());
  CHECK(read(test::evicted_early()).disrupted());
  CHECK(read(test::preempted()).disrupted());
  CHECK(read(test::preempted()).disruption == "PreemptionByScheduler");
  CHECK(read(test::node_lost()).disrupted());
  // Reasons of the pod that the kubelet writes without the condition: node shutdown, no room for it on its node.
  for (const auto* reason : {"NodeLost", "NodeShutdown", "Terminated", "Shutdown", "Preempting", "UnexpectedAdmissionError", "NodeAffinity",
                             "OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfnvidia.com/gpu"}) {
    CAPTURE(reason);
    CHECK(read({{"phase", "Failed"}, {"reason", reason}}).disrupted());
  }
}

TEST_CASE("the program's own exit, a deadline, or a condition that is not true is not a disruption") {
  CHECK_FALSE(read(test::failed(1)).disrupted());
  CHECK_FALSE(read({{"phase", "Failed"}, {"reason", "DeadlineExceeded"}}).disrupted());
  CHECK_FALSE(read(test::with_condition(test::failed(1), test::condition("DisruptionTarget", "False", "EvictionByEvictionAPI"))).disrupted());
}

TEST_CASE("containers are found by name, whatever the position of a sidecar") {
  auto beside = test::container(test::running(), 0, Json::object(), "istio-proxy");
  const auto pod = read(test::status("Running", Json::array({beside, test::container(test::terminated(0))})));
  REQUIRE(pod.container("train") != nullptr);
  CHECK(pod.container("train")->state == State::terminated);
  CHECK(pod.container("pytorch") == nullptr);
}

TEST_CASE("an init container that restarts for ever is a sidecar") {
  auto object = test::pod("a", "1",
                          test::status("Pending", Json::array({test::container(test::waiting("PodInitializing"))}),
                                       Json::array({test::container(test::running(), 0, Json::object(), "log-agent"),
                                                    test::container(test::terminated(1), 0, Json::object(), "init-pytorch")})));
  object["spec"]["initContainers"] =
      Json::array({{{"name", "log-agent"}, {"restartPolicy", "Always"}}, {{"name", "init-pytorch"}, {"image", "alpine"}}});
  const auto pod = read_pod(object);
  REQUIRE(pod.init_containers.size() == 2);
  CHECK(pod.init_containers[0].sidecar);
  CHECK_FALSE(pod.init_containers[1].sidecar);
}

TEST_CASE("any object, however malformed, gives a pod") {
  for (const auto* text : {"null", "3", "[]", "{}", R"({"metadata": 1, "spec": [], "status": "x"})",
                           R"({"status": {"conditions": [1, null, {}], "containerStatuses": [1, {}, {"state": 3}, {"state": {"terminated": []}}]}})",
                           R"({"status": {"containerStatuses": [{"restartCount": "x", "state": {"terminated": {"exitCode": 1e99}}}]}})",
                           R"({"metadata": {"name": 1, "creationTimestamp": "yesterday"}, "spec": {"initContainers": [1, {}]}})"}) {
    CAPTURE(text);
    const auto pod = read_pod(Json::parse(text));
    CHECK(pod.name.empty());
    CHECK_FALSE(pod.created);
    CHECK_FALSE(pod.disrupted());
  }
}

TEST_CASE("a trimmed pod reads the same, without what takes its room") {
  auto object = test::pod("train-1-worker-0", "uid-1", test::unscheduled());
  object["metadata"]["labels"] = {{"a", "b"}};
  object["metadata"]["annotations"] = {{"long", "text"}};
  object["metadata"]["managedFields"] = Json::array({{{"manager", "kubelet"}}});
  object["spec"]["containers"] = Json::array({{{"name", "train"}, {"image", "i"}}});
  object["spec"]["initContainers"] = Json::array({{{"name", "proxy"}, {"restartPolicy", "Always"}}});
  object["status"]["initContainerStatuses"] = Json::array({{{"name", "proxy"}, {"restartCount", 0}}});
  auto trimmed = object;
  trim_pod(trimmed);
  const auto before = read_pod(object);
  const auto after = read_pod(trimmed);
  CHECK(after.uid == before.uid);
  CHECK(after.node == before.node);
  CHECK(after.unschedulable == before.unschedulable);
  REQUIRE(after.init_containers.size() == 1);
  CHECK(after.init_containers.front().sidecar);
  CHECK(trimmed["metadata"]["labels"] == object["metadata"]["labels"]);
  for (const auto* gone : {"annotations", "managedFields"}) CHECK_FALSE(trimmed["metadata"].contains(gone));
  CHECK_FALSE(trimmed["spec"].contains("containers"));
  for (auto odd : {Json(), Json(7), Json{{"metadata", 1}, {"spec", Json::array()}}}) CHECK_NOTHROW(trim_pod(odd));
}
