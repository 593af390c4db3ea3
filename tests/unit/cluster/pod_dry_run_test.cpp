// Pods that are tried before there are any: what Pod Security would refuse, ours and the operators', and what is told where none may be made.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/pod_dry_run.h"

#include "job_types/render.h"
#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;
using Catch::Matchers::Contains;

namespace {

struct Sample {
  plan::Plan plan;
  job_types::Resource resource;
  std::vector<DryRunPod> pods;
};

Sample sample(const std::string& kind, int workers, std::size_t candidate = 0, const Json& more = Json::object()) {
  plan::Request request;
  request.run_id = "r";
  request.train_specification = R"({"image": "i", "command": ["train"]})";
  request.distribution_specification = {{"distribution_type", kind}, {"number_of_workers", workers}};
  request.distribution_specification.update(more);
  auto plan = plan::make_plan(request, job_types::traits());
  if (!plan) FAIL(plan.error().message);
  Sample made{std::move(*plan), job_types::find(kind).resources.at(candidate), {}};
  auto manifest = job_types::render(made.plan, made.resource.group_version);
  if (!manifest) FAIL(manifest.error().message);
  made.pods = dry_run_pods(manifest->json(), made.plan, made.resource);
  return made;
}

std::string injected_in(const Sample& made) {
  std::string text;
  for (const auto& pod : made.pods)
    text += (text.empty() ? "" : ", ") + pod.type + (pod.injected ? "+" + pod.injected->init_container.value("name", "") : "");
  return text;
}

const auto violation = R"(pods "x" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false)";

struct Trial {
  Harness h;
  std::vector<std::string> found;  // "error: …"
  std::vector<Json> tried;
  bool may = true;
  std::function<bool(const Json& pod)> fits = [](const Json&) { return true; };
  Reply refusal_of_pods = refusal(403, "Forbidden", violation);
  Reply name_space = refusal(403, "Forbidden", "no");
  std::optional<Result<void>> done;

  void run(std::vector<DryRunPod> pods) {
    h.server.serve([&](const FakeTransport::Asked& request) {
      const auto& path = request.request.url.path;
      if (path.ends_with("reviews")) return Reply::text(to_text({{"status", {{"allowed", may}}}}), 201);
      if (request.request.method == "GET") return name_space;
      CHECK(request.query("dryRun") == "All");
      tried.push_back(Json::parse(request.request.body));
      return fits(tried.back()) ? Reply::text("{}", 201) : refusal_of_pods;
    });
    const auto hear = [&](const Finding& finding) {
      using enum Finding::Severity;
      found.push_back((finding.severity == ok ? "ok: " : finding.severity == error ? "error: " : "warning: ") + finding.text);
    };
    const PodDryRun dry_run(*h.client, std::move(pods), "ns", {hear, [&](Result<void> result) { done = std::move(result); }});
    h.loop.run(1min);
  }
};

bool is_ours(const Json& pod) { return !pod["spec"].contains("initContainers"); }

}  // namespace

TEST_CASE("operators put containers of their own into a PyTorchJob's workers and an old MPIJob's launcher, and into no others") {
  CHECK(injected_in(sample("PyTorch", 3)) == "Master, Worker+init-pytorch");
  CHECK(injected_in(sample("PyTorch", 1)) == "Master");
  CHECK(injected_in(sample("PyTorch", 2, 0, {{"elastic", {{"min", 1}, {"max", 2}}}})) == "Worker");
  CHECK(injected_in(sample("MPI", 2)) == "Launcher, Worker");
  CHECK(injected_in(sample("MPI", 2, 1)) == "Launcher+kubectl-delivery, Worker");
  CHECK(injected_in(sample("TF", 2)) == "Chief, Worker, PS");
  CHECK(injected_in(sample("Job", 1)) == "Main");
}

TEST_CASE("a pod that is tried has the labels, annotations and containers that the job gives it") {
  const auto made = sample("PyTorch", 2);
  const auto& pod = made.pods.at(1).pod;
  CHECK(pod["kind"] == "Pod");
  CHECK(pod["metadata"]["name"] == made.plan.job_name + "-worker");
  CHECK(pod["metadata"]["annotations"]["sidecar.istio.io/inject"] == "false");
  CHECK(pod["spec"]["containers"][0]["name"] == "pytorch");
  CHECK(dry_run_pods(Json(), made.plan, made.resource).empty());
  CHECK(dry_run_pods({{"spec", {{"pytorchReplicaSpecs", {{"Worker", 1}}}}}}, made.plan, made.resource).empty());
}

TEST_CASE_METHOD(Trial, "if all pods are admitted, one finding says so") {
  run(sample("PyTorch", 2).pods);
  CHECK(tried.size() == 3);
  CHECK(found == std::vector<std::string>{"ok: Pod Security admits the pods"});
  CHECK((done && *done));
}

TEST_CASE_METHOD(Trial, "the operator's container that is refused alone is a warning that names the remedy") {
  fits = is_ours;
  run(sample("PyTorch", 2).pods);
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Contains("warning: ") && Contains("init-pytorch") && Contains("pods of Worker") &&
                           Contains("violates PodSecurity \"restricted") && Contains("--pytorch-init-container-template-file"));
}

TEST_CASE_METHOD(Trial, "the program's own container that is refused is a failure for each type, and the operator's is not tried") {
  fits = [](const Json&) { return false; };
  run(sample("PyTorch", 2).pods);
  REQUIRE(found.size() == 2);
  CHECK_THAT(found[0],
             Contains("error: pods of Master would be rejected, because each violates PodSecurity") && Contains("job_options.security_context"));
  CHECK_THAT(found[1], Contains("error: pods of Worker"));
  CHECK(tried.size() == 2);
}

TEST_CASE_METHOD(Trial, "a full quota is not Pod Security's matter; other rejections are reported unchanged") {
  fits = [](const Json&) { return false; };
  refusal_of_pods = refusal(403, "Forbidden", "exceeded quota: small");
  run(sample("Job", 1).pods);
  CHECK(found == std::vector<std::string>{"ok: Pod Security admits the pods"});
  found.clear();
  refusal_of_pods = refusal(403, "Forbidden", "no such service account");
  run(sample("Job", 1).pods);
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Contains("error: pods of Main would be rejected: ") && Contains("no such service account"));
  refusal_of_pods = refusal(403, "Forbidden", "admission webhook \"policy\" denied the request: not for you");
  found.clear();
  run(sample("Job", 1).pods);
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Contains("warning: pods of Main would be rejected: ") && Contains("not for you"));
}

TEST_CASE_METHOD(Trial, "without permission to create pods the namespace's level is read, and an unknown one is a warning") {
  may = false;
  const auto level = [](const char* text) {
    return Reply::text(to_text({{"metadata", {{"name", "ns"}, {"labels", {{"pod-security.kubernetes.io/enforce", text}}}}}}));
  };
  struct Row {
    Reply answer;
    std::vector<std::string> begin;
  };
  const auto row = GENERATE_COPY(Row{Reply::text(R"({"metadata": {"name": "ns"}})"), {"ok: the namespace enforces no"}},
                                 Row{level("privileged"), {"ok: the namespace enforces no"}},
                                 Row{level("baseline"), {"warning: the namespace enforces Pod Security level baseline"}},
                                 Row{level("restricted"), {"warning: the namespace enforces", "warning: the operator's container init-pytorch"}},
                                 Row{refusal(403, "Forbidden", "no"), {"warning: no permission to dry-run pods or read"}});
  name_space = row.answer;
  run(sample("PyTorch", 2).pods);
  CHECK(tried.empty());
  REQUIRE(found.size() == row.begin.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK_THAT(found[i], Catch::Matchers::StartsWith(row.begin[i]));
}

TEST_CASE_METHOD(Trial, "an unreachable API server gives no result for pods") {
  h.server.serve([](const FakeTransport::Asked&) { return Reply::lost(); });
  const PodDryRun dry_run(*h.client, sample("Job", 1).pods, "ns",
                          {[&](const Finding&) { FAIL("a finding"); }, [&](Result<void> result) { done = std::move(result); }});
  h.loop.run(5min);
  REQUIRE((done && !*done));
  CHECK(done->error().kind == ErrorKind::unavailable);
}
