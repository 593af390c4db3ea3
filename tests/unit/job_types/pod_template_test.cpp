// What every pod has, and which input says so.
// SPDX-License-Identifier: Apache-2.0
#include "job_types/pod_template.h"

#include <fmt/format.h>

#include "unit/job_types/example.h"

using namespace trainstep;
using namespace trainstep::job_types;
using namespace trainstep::job_types::test;

namespace {

constexpr auto container = "/spec/containers/0";

plan::Quantity quantity(const std::string& text, double value) { return {text, value}; }

PodShape shape(const plan::Plan& plan, const std::string& type = "Worker") {
  return {.type = type,
          .container = {"train", "default"},
          .command = {{"python3", "train_specification"}},
          .resources = plan.worker,
          .environment = environment_of(plan, type, {})};
}

Manifest pod(const plan::Plan& plan, const std::string& type = "Worker") { return pod_template(plan, shape(plan, type)); }

plan::JobOptions options(const char* json) {
  auto parsed = plan::parse_options(Json::parse(json));
  if (!parsed) FAIL(parsed.error().message);
  return *parsed;
}

}  // namespace

TEST_CASE("every dollar of a command is doubled, so that the program gets what was written") {
  const auto plan = example("Job", 1);
  const std::pair<const char*, const char*> cases[] = {{"$0", "$$0"},  {"$(mktemp -d)", "$$(mktemp -d)"}, {"$(HOME)", "$$(HOME)"},
                                                       {"$$", "$$$$"}, {"price: 5$", "price: 5$$"},       {"none", "none"},
                                                       {"", ""}};
  for (const auto& [written, expected] : cases) {
    auto with = shape(plan);
    with.command = {{"sh", ""}, {"-c", ""}, {written, ""}};
    CHECK(at(pod_template(plan, with).json(), std::string(container) + "/command/2") == expected);
  }
}

TEST_CASE("variables are text, or come from a Secret, a ConfigMap or the pod") {
  auto plan = example("Job", 1);
  plan.environment = {{"TEXT", "a$(B)", "train_specification"},
                      {"NUMBER", 3, "job_options.environment"},
                      {"FLAG", true, "job_options.environment"},
                      {"SECRET", {{"secret", "keys"}, {"key", "token"}}, "job_options.environment"},
                      {"CONFIG", {{"config_map", "settings"}, {"key", "mode"}}, "job_options.environment"},
                      {"NODE", {{"field", "spec.nodeName"}}, "job_options.environment"}};
  const char* expected[] = {R"-({"name":"TEXT","value":"a$$(B)"})-",
                            R"({"name":"NUMBER","value":"3"})",
                            R"({"name":"FLAG","value":"true"})",
                            R"({"name":"SECRET","valueFrom":{"secretKeyRef":{"name":"keys","key":"token"}}})",
                            R"({"name":"CONFIG","valueFrom":{"configMapKeyRef":{"name":"settings","key":"mode"}}})",
                            R"({"name":"NODE","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}})"};
  const auto manifest = pod(plan);
  for (std::size_t i = 0; i < plan.environment.size(); ++i) {
    const auto pointer = std::string(container) + "/env/" + std::to_string(i);
    CHECK(to_text(at(manifest.json(), pointer)) == expected[i]);
    CHECK(manifest.source_of(pointer) == plan.environment[i].source);
  }
}

TEST_CASE("a variable that is a path of the program has the path of its replica") {
  auto plan = example("Job", 1);
  const spec::Argument model{.kind = spec::Argument::Kind::output_path, .text = "model", .parts = {}, .otherwise = {}, .condition = {}};
  const spec::Argument data{.kind = spec::Argument::Kind::input_path, .text = "data", .parts = {}, .otherwise = {}, .condition = {}};
  plan.environment = {{"MODEL", "model", "command after --", model}, {"DATA", "data", "command after --", data}};
  const auto variables = environment_of(plan, "Main", {{}, {{"model", "/out/model"}, {"data", "/out/data"}}, ""});
  REQUIRE(variables.size() == 1);  // the input is omitted
  CHECK(variables[0].value == "/out/model");
  CHECK(variables[0].source == "command after --");
}

TEST_CASE("a type's own variables replace those of all in their place, or follow them") {
  auto plan = example("TF", 2);
  plan.environment = {{"A", "1", "job_options.environment"}, {"B", "2", "job_options.environment"}};
  plan.options = options(R"({"replicas": {"PS": {"environment": {"A": "9", "C": "3"}}}})");
  const auto names = [&](const std::string& type) {
    std::string text;
    for (const auto& variable : environment_of(plan, type, {})) text += variable.name + "=" + variable.value.get<std::string>() + " ";
    return text;
  };
  CHECK(names("PS") == "A=9 B=2 C=3 ");
  CHECK(names("Worker") == "A=1 B=2 ");
  CHECK(pod(plan, "PS").source_of(std::string(container) + "/env/0") == "job_options.replicas.PS.environment");
}

TEST_CASE("limits equal requests, GPUs under the name of the cluster's resource") {
  auto plan = example("PyTorch", 2);
  plan.worker = {{{quantity("8", 8), "distribution_specification.worker_cpus"}}, {{quantity("32Gi", 0x800000000), "memory"}}, {2, "gpus"}};
  plan.options = options(R"({"gpu_resource": "amd.com/gpu", "requests": {"rdma/hca": 1}})");
  const auto manifest = pod(plan);
  const auto& resources = at(manifest.json(), std::string(container) + "/resources");
  CHECK(to_text(resources["limits"]) == R"({"cpu":"8","memory":"32Gi","amd.com/gpu":"2","rdma/hca":"1"})");
  CHECK(resources["limits"] == resources["requests"]);
  CHECK(manifest.source_of(std::string(container) + "/resources/limits/memory") == "memory");
  CHECK(manifest.source_of(std::string(container) + "/resources/requests/rdma~1hca") == "job_options.requests");
}

TEST_CASE("a pod without ranks has no GPU and no /dev/shm") {
  auto plan = example("MPI", 2);
  plan.worker.gpus = {4, "gpus"};
  auto launcher = shape(plan, "Launcher");
  launcher.ranks = false;
  const auto text = to_text(pod_template(plan, launcher).json());
  CHECK(text.find("gpu") == std::string::npos);
  CHECK(text.find("/dev/shm") == std::string::npos);
}

TEST_CASE("/dev/shm is as large as the pod's memory when several processes train") {
  struct Case {
    const char* what;
    int workers, processes;
    bool memory;
    std::optional<plan::Quantity> wanted;
    const char* expected;
  };
  const Case cases[] = {{"one process", 1, 1, true, {}, "null"},
                        {"two workers", 2, 1, true, {}, R"({"medium":"Memory","sizeLimit":"4Gi"})"},
                        {"two processes in a worker", 1, 2, true, {}, R"({"medium":"Memory","sizeLimit":"4Gi"})"},
                        {"memory not known", 2, 1, false, {}, R"({"medium":"Memory"})"},
                        {"asked for", 1, 1, true, quantity("1Gi", 1 << 30), R"({"medium":"Memory","sizeLimit":"1Gi"})"},
                        {"not needed", 2, 1, true, quantity("0", 0), "null"}};
  for (const auto& row : cases) {
    CAPTURE(row.what);
    auto plan = example("PyTorch", row.workers);
    plan.processes_per_worker = row.processes;
    if (row.memory) plan.worker.memory = {{quantity("4Gi", 0x100000000), "memory"}};
    plan.options.shared_memory = row.wanted;
    const auto json = pod(plan).json();
    CHECK(to_text(at(json, "/spec/volumes/1/emptyDir")) == row.expected);
    CHECK(to_text(at(json, std::string(container) + "/volumeMounts/1/mountPath")) ==
          (std::string(row.expected) == "null" ? "null" : R"("/dev/shm")"));
  }
}

TEST_CASE("train_mount is the claim, or lives with the pod") {
  auto plan = example("Job", 1);
  CHECK(to_text(at(pod(plan).json(), "/spec/volumes")) == R"([{"name":"train","emptyDir":{}}])");
  plan.pvc_name = "data";
  const auto manifest = pod(plan);
  CHECK(to_text(at(manifest.json(), "/spec/volumes")) == R"([{"name":"train","persistentVolumeClaim":{"claimName":"data"}}])");
  CHECK(to_text(at(manifest.json(), std::string(container) + "/volumeMounts")) == R"([{"name":"train","mountPath":"/train"}])");
  CHECK(manifest.source_of("/spec/volumes/0") == "pvc_name");
}

TEST_CASE("volumes of job_options, each in its own form, and none of ours where one of theirs is mounted") {
  auto plan = example("PyTorch", 2);
  plan.options = options(R"({"volumes": [
    {"mount_path": "/train", "claim": "data", "sub_path": "a", "read_only": true},
    {"mount_path": "/dev/shm", "empty_dir": {"medium": "Memory"}},
    {"name": "keys", "mount_path": "/keys", "secret": "my-keys"},
    {"name": "keys", "mount_path": "/more-keys", "secret": "my-keys"},
    {"mount_path": "/conf", "config_map": "settings"},
    {"mount_path": "/scratch", "host_path": "/mnt/nvme"},
    {"mount_path": "/tmp2", "empty_dir": true}]})");
  const auto json = pod(plan).json();
  CHECK(to_text(at(json, "/spec/volumes")) ==
        R"([{"name":"volume-0","persistentVolumeClaim":{"claimName":"data","readOnly":true}},{"name":"volume-1","emptyDir":{"medium":"Memory"}},)"
        R"({"name":"keys","secret":{"secretName":"my-keys"}},{"name":"volume-4","configMap":{"name":"settings"}},)"
        R"({"name":"volume-5","hostPath":{"path":"/mnt/nvme"}},{"name":"volume-6","emptyDir":{}}])");
  CHECK(to_text(at(json, std::string(container) + "/volumeMounts")) ==
        R"([{"name":"volume-0","mountPath":"/train","subPath":"a","readOnly":true},{"name":"volume-1","mountPath":"/dev/shm"},)"
        R"({"name":"keys","mountPath":"/keys"},{"name":"keys","mountPath":"/more-keys"},{"name":"volume-4","mountPath":"/conf"},)"
        R"({"name":"volume-5","mountPath":"/scratch"},{"name":"volume-6","mountPath":"/tmp2"}])");
}

TEST_CASE("the options of a type take precedence over those of all, and each has its source") {
  auto plan = example("MPI", 2);
  plan.node_selector = {{"zone", "a"}, {"disk", "ssd"}};
  plan.options = options(R"({
    "tolerations": [{"key": "gpu", "operator": "Exists"}], "node_selector": {"zone": "b"}, "service_account": "trainer", "priority_class": "low",
    "image_pull_secrets": ["registry"], "labels": {"team": "vision"}, "host_network": true, "security_context": {"runAsUser": 0},
    "replicas": {"Launcher": {"tolerations": [{"key": "spot", "operator": "Exists"}], "priority_class": "high", "host_network": false,
                              "node_selector": {"zone": "c"}, "image": "launcher:1", "labels": {"role": "launcher"}}}})");
  const auto worker = pod(plan, "Worker"), launcher = pod(plan, "Launcher");
  CHECK(to_text(at(worker.json(), "/spec/tolerations")) == R"([{"key":"gpu","operator":"Exists"}])");
  CHECK(at(launcher.json(), "/spec/tolerations").size() == 2);
  CHECK(launcher.source_of("/spec/tolerations/0/key") == "job_options.tolerations[0]");
  CHECK(launcher.source_of("/spec/tolerations/1/key") == "job_options.replicas.Launcher.tolerations[0]");
  CHECK(to_text(at(worker.json(), "/spec/nodeSelector")) == R"({"zone":"b","disk":"ssd"})");
  CHECK(to_text(at(launcher.json(), "/spec/nodeSelector")) == R"({"zone":"c","disk":"ssd"})");
  CHECK(launcher.source_of("/spec/nodeSelector/zone") == "job_options.replicas.Launcher.node_selector");
  CHECK(launcher.source_of("/spec/nodeSelector/disk") == "node_selector");
  CHECK(at(launcher.json(), "/spec/priorityClassName") == "high");
  CHECK(worker.source_of("/spec/priorityClassName") == "job_options.priority_class");
  CHECK(at(launcher.json(), "/spec/serviceAccountName") == "trainer");
  CHECK(to_text(at(worker.json(), "/spec/imagePullSecrets")) == R"([{"name":"registry"}])");
  CHECK(at(launcher.json(), std::string(container) + "/image") == "launcher:1");
  CHECK(at(worker.json(), std::string(container) + "/image") == "registry.example/train:1");
  CHECK(to_text(at(worker.json(), std::string(container) + "/securityContext")) == R"({"runAsUser":0})");
  CHECK(
      to_text(at(launcher.json(), "/metadata/labels")) ==
      R"({"trainstep.dev/run":"run-1","team":"vision","role":"launcher","sidecar.istio.io/inject":"false","kuma.io/sidecar-injection":"disabled"})");
}

TEST_CASE("a pod on its node's network still resolves the names of the others") {
  auto plan = example("PyTorch", 2);
  plan.options = options(R"({"host_network": true})");
  CHECK(at(pod(plan).json(), "/spec/dnsPolicy") == "ClusterFirstWithHostNet");
  plan.options = options(R"({"host_network": false})");
  CHECK(at(pod(plan).json(), "/spec/dnsPolicy").is_null());
}

TEST_CASE("no service mesh injects a sidecar, whichever form its webhook reads, unless options say otherwise") {
  auto plan = example("Job", 1);
  const auto json = pod(plan).json();
  CHECK(at(json, "/metadata/annotations/sidecar.istio.io~1inject") == "false");
  CHECK(at(json, "/metadata/labels/sidecar.istio.io~1inject") == "false");
  CHECK(at(json, "/metadata/annotations/linkerd.io~1inject") == "disabled");
  CHECK(at(json, "/metadata/labels/kuma.io~1sidecar-injection") == "disabled");
  CHECK(at(json, "/metadata/annotations/consul.hashicorp.com~1connect-inject") == "false");
  for (const auto* place : {"annotations", "labels"}) {  // the label would count above the annotation
    plan.options = options(fmt::format(R"({{"{}": {{"sidecar.istio.io/inject": "true"}}}})", place).c_str());
    const auto wanted = pod(plan).json();
    const bool label = place == std::string("labels");
    CHECK(at(wanted, "/metadata/labels/sidecar.istio.io~1inject") == (label ? Json("true") : Json()));
    CHECK(at(wanted, "/metadata/annotations/sidecar.istio.io~1inject") == (label ? Json() : Json("true")));
    CHECK(at(wanted, "/metadata/annotations/linkerd.io~1inject") == "disabled");
  }
}

TEST_CASE("the grace between SIGTERM and SIGKILL is written when it is not Kubernetes' own") {
  auto plan = example("Job", 1);
  CHECK(at(pod(plan).json(), "/spec/terminationGracePeriodSeconds").is_null());
  plan.options = options(R"({"run_policy": {"stop_grace": "1m30s"}})");
  CHECK(at(pod(plan).json(), "/spec/terminationGracePeriodSeconds") == 90);
}
