// What a step reads out of its own pod.
#include "cluster/facts.h"

#include <optional>

#include "base/files.h"
#include "support/catch.h"
#include "support/temp_dir.h"
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
  CHECK(facts.began == from_rfc3339("2026-11-21T08:00:00Z"));
}

TEST_CASE("a pod without a workflow has no attempt before or after it") {
  auto pod = argo_pod();
  pod["metadata"].erase("ownerReferences");
  CHECK_FALSE(read_facts(pod).began);
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
  REQUIRE(mounts.size() == 3);
  CHECK(mounts[0].claim == "datasets");
  CHECK(mounts[0].mount_path == "/data");
  CHECK(mounts[0].sub_path == "mnist");
  CHECK(mounts[1].claim.empty());
  CHECK(mounts[1].mount_path == "/tmp");
  CHECK(mounts[2].claim == "models");
  CHECK(mounts[2].mount_path == "/models");
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
  REQUIRE(read_facts(pod).mounts.size() == 3);
  CHECK(read_facts(pod).mounts[0].claim.empty());
  CHECK(read_facts(pod).mounts[0].mount_path == "/data");
}

TEST_CASE("a claim that is mounted to be read only, by its volume or its mount, may not be written to") {
  auto pod = argo_pod();
  CHECK_FALSE(read_facts(pod).mounts[0].read_only);
  SECTION("by its volume") { pod["spec"]["volumes"][0]["persistentVolumeClaim"]["readOnly"] = true; }
  SECTION("by its mount") { pod["spec"]["containers"][1]["volumeMounts"][0]["readOnly"] = true; }
  CHECK(read_facts(pod).mounts[0].read_only);
  CHECK_FALSE(read_facts(pod).mounts[2].read_only);
}

TEST_CASE("a pod is looked for in its own namespace, wherever its job is to be") {
  kube::test::Harness h;
  h.server.serve([](const test::FakeTransport::Asked&) { return test::Reply::text(to_text(argo_pod())); });
  OwnPod pod{"digits-x7k2p-train-1"};
  pod.name_space = "team-a";
  std::optional<Result<Facts>> found;
  find_facts(*h.client, "training", pod, [&](Result<Facts> facts) { found = std::move(facts); });
  h.loop.run();
  REQUIRE((found && *found));
  CHECK(h.server.asked().front().request.url.path == "/base/api/v1/namespaces/team-a/pods/digits-x7k2p-train-1");
  const auto elsewhere = facts_for_job_elsewhere(**found);
  CHECK_FALSE(elsewhere.workflow);
  CHECK(elsewhere.mounts.empty());
  CHECK(elsewhere.node_name == "digits-x7k2p.train");
}

TEST_CASE("the own container is Argo's main, otherwise kubectl's default container, otherwise the first that is not a proxy") {
  auto pod = argo_pod();
  auto& containers = pod["spec"]["containers"];
  containers[0]["image"] = "one:1";
  containers[1]["image"] = "two:1";
  const auto image = [&] { return read_facts(pod).image; };
  CHECK(image() == "two:1");
  containers[0]["name"] = "istio-proxy";
  containers[1]["name"] = "notebook";
  CHECK(image() == "two:1");
  pod["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"] = "istio-proxy";
  CHECK(image() == "one:1");
  pod["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"] = "gone";
  CHECK(image() == "two:1");
  containers[0]["name"] = "helper";
  CHECK(image() == "one:1");
}

TEST_CASE(
    "another attempt follows if the retry strategy tries again whatever is lost, may follow with any other, and does not without attempts left") {
  struct Row {
    std::string node;
    Json strategy;
    Retry retry;
  };
  using enum Retry;
  const Row rows[] = {
      {"wf.train(0)", {{"limit", "2"}, {"retryPolicy", "Always"}}, follows},
      {"wf.train(1)", {{"limit", 2}, {"retryPolicy", "Always"}}, follows},
      {"wf.train(2)", {{"limit", 2}, {"retryPolicy", "Always"}}, none},  // the last one
      {"wf.train(0)", {{"limit", 1}, {"retryPolicy", "OnFailure"}}, may_follow},
      {"wf.train(0)", {{"limit", 1}}, may_follow},
      {"wf.train(7)", {{"retryPolicy", "Always"}}, follows},  // without a limit
      {"wf.train(0)", Json::object(), may_follow},
      {"wf.train(0)", {{"limit", 0}}, none},
      {"wf.train(0)", {{"limit", 2}, {"retryPolicy", "OnError"}}, may_follow},
      {"wf.train(0)", {{"limit", 2}, {"retryPolicy", "OnTransientError"}}, may_follow},
      {"wf.train(0)", {{"limit", 2}, {"expression", "lastRetry.exitCode != '2'"}}, may_follow},
      {"wf.train(0)", {{"limit", "{{inputs.parameters.retry-max-count}}"}}, may_follow},
      {"wf.train(0)", {{"limit", -1}}, none},
      {"wf.train", {{"limit", 2}}, none},
      {"wf.train(0:mnist)", {{"limit", 2}}, none},  // an item of a loop
      {"wf.train(x)", {{"limit", 2}}, none},
      {"", {{"limit", 2}}, none},
      {"wf(0).root(0).train(0).executor(0)", nullptr, none},  // KFP v2: every node looks retried
      {"wf.train(0)", "always", none},
  };
  for (const auto& row : rows) {
    CAPTURE(row.node, row.strategy.dump());
    CHECK(with_retries(row.node, row.strategy).retry == row.retry);
  }
  auto offloaded = argo_pod("wf.train(0)");
  offloaded["spec"]["containers"][1]["env"][1]["value"] = offloaded["spec"]["containers"][0]["env"][1]["value"] = "";
  CHECK(read_facts(offloaded).retry == none);
}

TEST_CASE("a template that is too large for the environment is read from Argo's file; without it another attempt may follow") {
  TempDir folder;
  const auto file = folder.path() / "template";
  const auto offloaded = [](const std::string& node_name) {
    auto pod = argo_pod(node_name);
    for (auto& container : pod["spec"]["containers"]) container["env"][1]["value"] = "offloaded";
    return pod;
  };
  const auto unread = read_facts(offloaded("wf.train(0)"), file);
  CHECK(unread.retry == Retry::may_follow);
  REQUIRE(unread.notices.size() == 1);
  CHECK_THAT(unread.notices.front(), Catch::Matchers::Contains(file.string()));
  CHECK(read_facts(offloaded("wf.train"), file).retry == Retry::none);  // no retry has made this node
  CHECK(read_facts(offloaded("wf.train"), file).notices.empty());
  for (const auto* broken : {"", "{", "[]"}) {
    REQUIRE(write_file_atomically(file, broken));
    CHECK(read_facts(offloaded("wf.train(0)"), file).retry == Retry::may_follow);
  }
  REQUIRE(write_file_atomically(file, R"({"retryStrategy": {"limit": 1, "retryPolicy": "Always"}})"));
  CHECK(read_facts(offloaded("wf.train(0)"), file).retry == Retry::follows);
  CHECK(read_facts(offloaded("wf.train(1)"), file).retry == Retry::none);
  CHECK(read_facts(offloaded("wf.train(0)"), file).notices.empty());
  REQUIRE(write_file_atomically(file, "{}"));
  CHECK(read_facts(offloaded("wf.train(0)"), file).retry == Retry::none);
}

TEST_CASE("a retry strategy that ends after some time is believed for so long, from the first attempt only") {
  const auto begun = *from_rfc3339("2026-11-21T08:00:00Z");
  const std::pair<const char*, Duration> durations[] = {
      {"90", std::chrono::seconds(90)}, {"3600s", std::chrono::hours(1)}, {"1h30m", std::chrono::minutes(90)}, {"2m5s", std::chrono::seconds(125)}};
  for (const auto& [text, duration] : durations) {
    CAPTURE(text);
    const Json strategy = {{"limit", 3}, {"backoff", {{"duration", "5s"}, {"maxDuration", text}}}};
    const auto first = with_retries("wf.train(0)", strategy);
    CHECK(first.retry == Retry::may_follow);
    CHECK(first.retry_pause == Duration{5'000});
    CHECK(first.retried_until == begun + duration);
    CHECK_FALSE(with_retries("wf.train(1)", strategy).retried_until);
  }
  for (const auto* text : {"soon", "5d", "h", "1.5h", "-3s"}) {
    const auto facts = with_retries("wf.train(0)", {{"limit", 3}, {"retryPolicy", "Always"}, {"backoff", {{"maxDuration", text}}}});
    CHECK(facts.retry == Retry::may_follow);
    CHECK_FALSE(facts.retried_until);
  }
  CHECK_FALSE(with_retries("wf.train(0)", {{"limit", 3}, {"backoff", {{"duration", "5s"}}}}).retried_until);
}

TEST_CASE("the pause before the next attempt grows by the strategy's factor, up to its cap") {
  const auto pause = [](const std::string& node, const Json& backoff) {
    return with_retries(node, {{"limit", 9}, {"retryPolicy", "Always"}, {"backoff", backoff}}).retry_pause;
  };
  CHECK(pause("wf.train(0)", {{"duration", "1m"}, {"factor", 2}}) == std::chrono::minutes(1));
  CHECK(pause("wf.train(3)", {{"duration", "1m"}, {"factor", "2"}}) == std::chrono::minutes(8));
  CHECK(pause("wf.train(3)", {{"duration", "1m"}, {"factor", 2}, {"cap", "5m"}}) == std::chrono::minutes(5));
  CHECK(pause("wf.train(3)", {{"duration", "1h"}, {"factor", 100}}) == std::chrono::hours(24));
  CHECK(pause("wf.train(3)", {{"duration", "soon"}, {"factor", -1}}) == Duration{0});
}

TEST_CASE("a step knows the grace of its pod, and whether KFP's launcher runs it") {
  auto pod = argo_pod();
  CHECK_FALSE(read_facts(pod).launcher);
  CHECK(read_facts(pod).grace == std::chrono::seconds(30));
  pod["spec"]["terminationGracePeriodSeconds"] = 120;
  CHECK(read_facts(pod).grace == std::chrono::minutes(2));
  for (auto& container : pod["spec"]["containers"]) container["command"] = {"/var/run/argo/argoexec", "emissary", "--", "/kfp-launcher/launch"};
  CHECK(read_facts(pod).launcher);
}

namespace {

struct Neighbours {
  kube::test::Harness h;
  Json pods = Json::array();
  int status = 404;  // of a GET by the host's name

  void add(const std::string& name, const std::string& node_id = "") {
    auto pod = argo_pod();
    pod["metadata"]["name"] = name;
    if (!node_id.empty()) pod["metadata"]["annotations"]["workflows.argoproj.io/node-id"] = node_id;
    pods.push_back(std::move(pod));
  }
  Facts find(const OwnPod& own) {
    h.server.serve([this](const test::FakeTransport::Asked& asked) {
      if (!asked.request.url.path.ends_with("/pods")) return test::Reply::text("{}", status);
      return test::Reply::text(to_text({{"kind", "PodList"}, {"apiVersion", "v1"}, {"metadata", Json::object()}, {"items", pods}}));
    });
    std::optional<Result<Facts>> found;
    find_facts(*h.client, "team-a", own, [&](Result<Facts> facts) { found = std::move(facts); });
    h.loop.run();
    REQUIRE(found);
    REQUIRE(*found);
    return **found;
  }
};

}  // namespace

TEST_CASE_METHOD(Neighbours, "a pod whose name is longer than a host name is found by its beginning") {
  const std::string beginning(62, 'a');
  add(beginning + "-tail-0");
  add(std::string(20, 'a'));
  add("other");
  CHECK(find({beginning}).pod == beginning + "-tail-0");
  SECTION("unless there are two of them") {
    add(beginning + "-tail-1");
    CHECK(find({beginning}).pod.empty());
    SECTION("of which the node's id knows one") {
      add(beginning + "-tail-2", "wf-7");
      CHECK(find({beginning, "wf-7"}).pod == beginning + "-tail-2");
    }
  }
}

TEST_CASE_METHOD(Neighbours, "a pod whose host name is its node's, or which may only be listed, is found") {
  add("digits-train-1", "wf-7");
  add("digits-train-2", "wf-8");
  CHECK(find({"node-3.example", "wf-8"}).pod == "digits-train-2");
  status = 403;
  CHECK(find({"digits-train-1"}).pod == "digits-train-1");
  CHECK(find({"digits-train"}).pod.empty());
}

TEST_CASE("facts are requested with the path of Argo's file") {
  TempDir folder;
  kube::test::Harness h;
  auto pod = argo_pod("wf.train(0)");
  for (auto& container : pod["spec"]["containers"]) container["env"][1]["value"] = "offloaded";
  REQUIRE(write_file_atomically(folder.path() / "template", R"({"retryStrategy": {"retryPolicy": "Always"}})"));
  h.server.reply(test::Reply::text(to_text(pod)));
  std::optional<Facts> facts;
  OwnPod own{.name = "digits-x7k2p-train-1"};
  CHECK(own.argo_template == "/var/run/argo/template");
  own.argo_template = folder.path() / "template";
  find_facts(*h.client, "team-a", own, [&facts](Result<Facts> found) { facts = std::move(*found); });
  h.loop.run();
  REQUIRE(facts);
  CHECK(facts->retry == Retry::follows);
}

TEST_CASE("a pod that is missing or may not be read is not an error, and the consequences are reported") {
  for (const int status : {403, 404}) {
    CAPTURE(status);
    kube::test::Harness h;
    h.server.serve([status](const test::FakeTransport::Asked& asked) {
      const bool list = asked.request.url.path.ends_with("/pods");
      if (list && status == 404) return test::Reply::text(R"({"kind": "PodList", "metadata": {}, "items": []})");
      return test::Reply::text("{}", status);
    });
    std::optional<Result<Facts>> found;
    find_facts(*h.client, "team-a", OwnPod{"step-1"}, [&](Result<Facts> facts) { found = std::move(facts); });
    h.loop.run();
    REQUIRE(found);
    REQUIRE(*found);
    CHECK((**found).name_space == "team-a");
    CHECK((**found).pod.empty());
    REQUIRE((**found).notices.size() == 1);
    CHECK_THAT((**found).notices.front(), Catch::Matchers::Contains("a retry cannot adopt this job"));
  }
}

TEST_CASE("an Argo pod that is gone belongs to a lost attempt: it is not another step's, and creates no job") {
  const auto absent = R"({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "pods \"step-1\" not found",
                          "details": {"name": "step-1", "kind": "pods"}})";
  std::string said = absent;
  int may_list = 200;
  bool gone = false;
  SECTION("gone") { gone = true; }
  SECTION("the response is a gateway's") { said = "<html>no such page</html>"; }
  SECTION("the others may not be listed") { may_list = 403; }
  kube::test::Harness h;
  h.server.serve([&](const test::FakeTransport::Asked& asked) {
    if (!asked.request.url.path.ends_with("/pods")) return test::Reply::text(said, 404);
    return test::Reply::text(R"({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []})", may_list);
  });
  std::optional<Result<Facts>> found;
  find_facts(*h.client, "team-a", OwnPod{"step-1", "wf-1"}, [&](Result<Facts> facts) { found = std::move(facts); });
  h.loop.run(std::chrono::hours(1));
  REQUIRE(found);
  CHECK(found->has_value() != gone);
  if (!gone) return;
  CHECK(found->error().kind == ErrorKind::not_found);
  CHECK(found->error().message == "this step's pod step-1 is gone: another attempt of the step may be running");
}

TEST_CASE("one answer that our own pod is not there, or not to be seen, is not believed") {
  const auto absent = R"({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "pods \"step-1\" not found",
                          "details": {"name": "step-1", "kind": "pods"}})";
  for (const auto& [status, body] : {std::pair(404, "<html>no such page</html>"), {403, "{}"}, {404, absent}}) {
    CAPTURE(status, body);
    kube::test::Harness h;
    int asked = 0;
    h.server.serve([&](const test::FakeTransport::Asked& one) {
      if (one.request.url.path.ends_with("/pods")) return test::Reply::text("{}", 403);
      return ++asked == 1 ? test::Reply::text(body, status) : test::Reply::text(R"({"metadata": {"name": "step-1", "uid": "u"}})", 200);
    });
    std::optional<Result<Facts>> found;
    find_facts(*h.client, "team-a", OwnPod{"step-1"}, [&](Result<Facts> facts) { found = std::move(facts); });
    h.loop.run(std::chrono::hours(1));
    REQUIRE(found);
    REQUIRE(*found);
    CHECK((**found).pod == "step-1");
  }
}

TEST_CASE("a server that does not know our pod does not change our identity") {
  kube::test::Harness h;
  h.server.serve([](const auto&) { return test::Reply::text("{}", 401); });
  std::optional<Result<Facts>> found;
  find_facts(*h.client, "team-a", OwnPod{"step-1"}, [&](Result<Facts> facts) { found = std::move(facts); });
  h.loop.run();
  REQUIRE(found);
  REQUIRE_FALSE(*found);
  CHECK(found->error().kind == ErrorKind::unavailable);
}

TEST_CASE("the own pod is requested until the server responds") {
  for (const int status : {500, 503}) {
    CAPTURE(status);
    kube::test::Harness h;
    h.server.serve([status](const test::FakeTransport::Asked& asked) {
      const bool list = asked.request.url.path.ends_with("/pods");
      if (list && status == 404) return test::Reply::text(R"({"kind": "PodList", "metadata": {}, "items": []})");
      return test::Reply::text("{}", status);
    });
    std::optional<Result<Facts>> found;
    find_facts(*h.client, "team-a", OwnPod{"step-1"}, [&](Result<Facts> facts) { found = std::move(facts); });
    h.loop.run(std::chrono::hours(1));
    CHECK_FALSE(found);
    h.server.serve([](const auto&) { return test::Reply::text(R"({"metadata": {"name": "step-1"}})", 200); });
    h.loop.run(std::chrono::hours(1));
    REQUIRE(found);
    REQUIRE(*found);
    CHECK((**found).pod == "step-1");
  }
}

TEST_CASE("any pod, however malformed, gives facts") {
  for (const auto* text :
       {"null", "[]", "{}", R"({"metadata": 1, "spec": 2})", R"({"metadata": {"ownerReferences": [1, null, {"kind": 3}], "annotations": []}})",
        R"({"spec": {"containers": [1, {"env": [1, {"name": "ARGO_TEMPLATE", "value": "{"}]}], "volumes": [null, {"name": 1}]}})"}) {
    CAPTURE(text);
    const auto facts = read_facts(Json::parse(text));
    CHECK_FALSE(facts.workflow);
    CHECK(facts.mounts.empty());
    CHECK(facts.retry == Retry::none);
  }
}
