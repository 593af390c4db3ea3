// What a step reads out of its own pod.
#include "cluster/facts.h"

#include <optional>

#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;

namespace {

// A pod as Argo makes it: "main" is neither the first nor the only container.
Json argo_pod(const std::string& node_name = "digits-x7k2p.train", const Json& argo_template = Json::object()) {
  const Json variables =
      Json::array({{{"name", "ARGO_NODE_ID"}, {"value", "digits-x7k2p-1"}}, {{"name", "ARGO_TEMPLATE"}, {"value", argo_template.dump()}}});
  return {
      {"metadata",
       {{"name", "digits-x7k2p-train-1"},
        {"namespace", "team-a"},
        {"uid", "pod-uid"},
        {"creationTimestamp", "2026-11-21T08:00:00Z"},
        {"annotations", {{"workflows.argoproj.io/node-name", node_name}}},
        {"labels", {{"workflows.argoproj.io/workflow", "digits-x7k2p"}, {"pipeline/runid", "run-7"}}},
        {"ownerReferences",
         Json::array(
             {{{"apiVersion", "argoproj.io/v1alpha1"}, {"kind", "Workflow"}, {"name", "digits-x7k2p"}, {"uid", "wf-uid"}, {"controller", true}}})}}},
      {"spec",
       {{"volumes", Json::array({{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "datasets"}}}},
                                 {{"name", "tmp"}, {"emptyDir", Json::object()}},
                                 {{"name", "models"}, {"persistentVolumeClaim", {{"claimName", "models"}}}}})},
        {"containers",
         Json::array({{{"name", "wait"}, {"env", variables}, {"volumeMounts", Json::array({{{"name", "models"}, {"mountPath", "/mainctrfs"}}})}},
                      {{"name", "main"},
                       {"env", variables},
                       {"volumeMounts", Json::array({{{"name", "data"}, {"mountPath", "/data"}, {"subPath", "mnist"}},
                                                     {{"name", "tmp"}, {"mountPath", "/tmp"}},
                                                     {{"name", "models"}, {"mountPath", "/models"}}})}}})}}}};
}

Facts with_retries(const std::string& node_name, const Json& strategy) { return read_facts(argo_pod(node_name, {{"retryStrategy", strategy}})); }

}  // namespace

TEST_CASE("a step in a workflow knows its pod, its workflow, its node and its pipeline's run") {
  const auto facts = read_facts(argo_pod());
  CHECK(facts.name_space == "team-a");
  CHECK(facts.pod == "digits-x7k2p-train-1");
  CHECK(facts.pod_uid == "pod-uid");
  CHECK(facts.node_name == "digits-x7k2p.train");
  CHECK(facts.pipeline_run == "run-7");
  REQUIRE(facts.workflow);
  CHECK(facts.workflow->api_version == "argoproj.io/v1alpha1");
  CHECK(facts.workflow->name == "digits-x7k2p");
  CHECK(facts.workflow->uid == "wf-uid");
}

TEST_CASE("only an owner of Argo's is a workflow") {
  auto pod = argo_pod();
  pod["metadata"]["ownerReferences"][0]["apiVersion"] = "batch/v1";
  CHECK_FALSE(read_facts(pod).workflow);
  pod["metadata"]["ownerReferences"][0] = {{"apiVersion", "argoproj.io/v1alpha1"}, {"kind", "CronWorkflow"}};
  CHECK_FALSE(read_facts(pod).workflow);
}

TEST_CASE("its claims are those that its own container has mounted") {
  const auto mounts = read_facts(argo_pod()).mounts;
  REQUIRE(mounts.size() == 2);
  CHECK(mounts[0].claim == "datasets");
  CHECK(mounts[0].mount_path == "/data");
  CHECK(mounts[0].sub_path == "mnist");
  CHECK(mounts[1].claim == "models");
  CHECK(mounts[1].mount_path == "/models");
  auto alone = argo_pod();
  alone["spec"]["containers"].erase(1);
  alone["spec"]["containers"][0]["name"] = "notebook";
  REQUIRE(read_facts(alone).mounts.size() == 1);
  CHECK(read_facts(alone).mounts[0].mount_path == "/mainctrfs");
}

TEST_CASE("the image that holds this program is that of its own container") {
  auto pod = argo_pod();
  CHECK(read_facts(pod).image.empty());
  pod["spec"]["containers"][0]["image"] = "argoexec:1";
  pod["spec"]["containers"][1]["image"] = "registry.example/trainstep:1";
  CHECK(read_facts(pod).image == "registry.example/trainstep:1");
}

TEST_CASE("a mount whose sub-path only the kubelet knows leads nowhere") {
  auto pod = argo_pod();
  pod["spec"]["containers"][1]["volumeMounts"][0].erase("subPath");
  pod["spec"]["containers"][1]["volumeMounts"][0]["subPathExpr"] = "$(POD_NAME)";
  REQUIRE(read_facts(pod).mounts.size() == 1);
  CHECK(read_facts(pod).mounts[0].claim == "models");
}

TEST_CASE("another attempt follows if the retry strategy tries evicted pods again and has attempts left; in doubt none does") {
  struct Row {
    std::string node;
    Json strategy;
    bool follows;
  };
  const Row rows[] = {
      {"wf.train(0)", {{"limit", "2"}, {"retryPolicy", "Always"}}, true},
      {"wf.train(1)", {{"limit", 2}, {"retryPolicy", "Always"}}, true},
      {"wf.train(2)", {{"limit", 2}, {"retryPolicy", "Always"}}, false},  // the last one
      {"wf.train(0)", {{"limit", 1}, {"retryPolicy", "OnFailure"}}, true},
      {"wf.train(0)", {{"limit", 1}}, true},
      {"wf.train(7)", {{"retryPolicy", "Always"}}, true},  // without a limit
      {"wf.train(0)", Json::object(), true},
      {"wf.train(0)", {{"limit", 0}}, false},
      {"wf.train(0)", {{"limit", 2}, {"retryPolicy", "OnError"}}, false},
      {"wf.train(0)", {{"limit", 2}, {"retryPolicy", "OnTransientError"}}, false},
      {"wf.train(0)", {{"limit", 2}, {"expression", "lastRetry.exitCode != '2'"}}, false},
      {"wf.train(0)", {{"limit", "{{inputs.parameters.retry-max-count}}"}}, false},
      {"wf.train(0)", {{"limit", -1}}, false},
      {"wf.train", {{"limit", 2}}, false},
      {"wf.train(0:mnist)", {{"limit", 2}}, false},  // an item of a loop
      {"wf.train(x)", {{"limit", 2}}, false},
      {"", {{"limit", 2}}, false},
      {"wf(0).root(0).train(0).executor(0)", nullptr, false},  // KFP v2: every node looks retried
      {"wf.train(0)", "always", false},
  };
  for (const auto& row : rows) {
    CAPTURE(row.node, row.strategy.dump());
    CHECK(with_retries(row.node, row.strategy).retried == row.follows);
  }
  auto offloaded = argo_pod("wf.train(0)");
  offloaded["spec"]["containers"][1]["env"][1]["value"] = offloaded["spec"]["containers"][0]["env"][1]["value"] = "";
  CHECK_FALSE(read_facts(offloaded).retried);
}

TEST_CASE("a retry strategy that ends after some time is believed for so long, from the first attempt only") {
  const auto begun = *from_rfc3339("2026-11-21T08:00:00Z");
  const std::pair<const char*, Duration> durations[] = {
      {"90", std::chrono::seconds(90)}, {"3600s", std::chrono::hours(1)}, {"1h30m", std::chrono::minutes(90)}, {"2m5s", std::chrono::seconds(125)}};
  for (const auto& [text, duration] : durations) {
    CAPTURE(text);
    const Json strategy = {{"limit", 3}, {"backoff", {{"duration", "5s"}, {"maxDuration", text}}}};
    const auto first = with_retries("wf.train(0)", strategy);
    CHECK(first.retried);
    CHECK(first.retried_until == begun + duration);
    CHECK_FALSE(with_retries("wf.train(1)", strategy).retried);
  }
  for (const auto* text : {"soon", "5d", "h", "1.5h", "-3s"})
    CHECK_FALSE(with_retries("wf.train(0)", {{"limit", 3}, {"backoff", {{"maxDuration", text}}}}).retried);
  CHECK_FALSE(with_retries("wf.train(0)", {{"limit", 3}, {"backoff", {{"duration", "5s"}}}}).retried_until);
}

TEST_CASE("a pod that may not be read, or is not there, is no error: what follows from it is told") {
  for (const int status : {403, 404}) {
    CAPTURE(status);
    kube::test::Harness h;
    h.server.serve([status](const auto&) { return test::Reply::text("{}", status); });
    std::optional<Result<Facts>> found;
    find_facts(*h.client, "team-a", "step-1", [&](Result<Facts> facts) { found = std::move(facts); });
    h.loop.run();
    REQUIRE(found);
    REQUIRE(*found);
    CHECK((**found).name_space == "team-a");
    CHECK((**found).pod.empty());
    REQUIRE((**found).notices.size() == 1);
    CHECK_THAT((**found).notices.front(), Catch::Matchers::Contains("a retry cannot find this job again"));
  }
}

TEST_CASE("a server that does not know us does not make us somebody else") {
  kube::test::Harness h;
  h.server.serve([](const auto&) { return test::Reply::text("{}", 401); });
  std::optional<Result<Facts>> found;
  find_facts(*h.client, "team-a", "step-1", [&](Result<Facts> facts) { found = std::move(facts); });
  h.loop.run();
  REQUIRE(found);
  REQUIRE_FALSE(*found);
  CHECK(found->error().kind == ErrorKind::unavailable);
}

TEST_CASE("who we are is asked until the server answers") {
  for (const int status : {500, 503}) {
    CAPTURE(status);
    kube::test::Harness h;
    h.server.serve([status](const auto&) { return test::Reply::text("{}", status); });
    std::optional<Result<Facts>> found;
    find_facts(*h.client, "team-a", "step-1", [&](Result<Facts> facts) { found = std::move(facts); });
    h.loop.run(std::chrono::hours(1));
    CHECK_FALSE(found);
    h.server.serve([](const auto&) { return test::Reply::text(R"({"metadata": {"name": "step-1"}})", 200); });
    h.loop.run(std::chrono::hours(1));
    REQUIRE(found);
    REQUIRE(*found);
    CHECK((**found).pod == "step-1");
  }
}

TEST_CASE("whatever the pod looks like, facts come out") {
  for (const auto* text :
       {"null", "[]", "{}", R"({"metadata": 1, "spec": 2})", R"({"metadata": {"ownerReferences": [1, null, {"kind": 3}], "annotations": []}})",
        R"({"spec": {"containers": [1, {"env": [1, {"name": "ARGO_TEMPLATE", "value": "{"}]}], "volumes": [null, {"name": 1}]}})"}) {
    CAPTURE(text);
    const auto facts = read_facts(Json::parse(text));
    CHECK_FALSE(facts.workflow);
    CHECK(facts.mounts.empty());
    CHECK_FALSE(facts.retried);
  }
}
