// What a pod with the agent has that others have not.
// SPDX-License-Identifier: Apache-2.0
#include "job_types/agent.h"

#include <algorithm>
#include <string>
#include <vector>

#include "unit/job_types/example.h"

using namespace trainstep;
using namespace trainstep::job_types;
using namespace trainstep::job_types::test;

namespace {

plan::Plan with_agent_in(plan::Plan plan) {
  plan.data.agent_image = "registry.example/trainstep:1";
  return plan;
}

plan::Plan job() { return with_agent_in(example("Job", 1)); }

Json pod_of(const plan::Plan& plan) { return at(rendered(plan), "/spec/template/spec"); }

Json named(const Json& list, const std::string& name) {
  for (const auto& entry : list)
    if (entry.at("name") == name) return entry;
  return nullptr;
}

std::size_t count(const Json& list, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::count_if(list, [&](const Json& entry) { return entry.at("name") == name; }));
}

// The word behind the last --role, or "" without an agent.
std::string role(const Json& command) {
  std::string found;
  for (std::size_t i = 0; i + 1 < command.size(); ++i)
    if (command[i] == "--role") found = command[i + 1];
  return found;
}

Json options(const char* json) { return Json::parse(json); }

}  // namespace

TEST_CASE("without an agent a pod has nothing of it") {
  const auto pod = pod_of(example("Job", 1));
  CHECK_FALSE(pod.contains("initContainers"));
  CHECK(pod["containers"][0]["command"] == Json{"python3", "train.py"});
  CHECK_FALSE(pod["containers"][0].contains("env"));
  CHECK(named(pod["volumes"], "trainstep").is_null());
}

TEST_CASE("the agent wraps the program, and is copied into the pod by an init container") {
  const auto pod = pod_of(job());
  CHECK(pod["containers"][0]["command"] ==
        Json{"/trainstep/trainstep", "exec", "--role", "primary", "--scratch", "/trainstep", "--", "python3", "train.py"});
  REQUIRE(pod["initContainers"].size() == 1);
  const auto& init = pod["initContainers"][0];
  CHECK(init["image"] == "registry.example/trainstep:1");
  CHECK(init["command"] == Json{"trainstep", "exec", "--install", "/trainstep/trainstep"});
  CHECK(init["volumeMounts"] == Json::array({{{"name", "trainstep"}, {"mountPath", "/trainstep"}}}));
  CHECK(named(pod["volumes"], "trainstep")["emptyDir"] == Json::object());
  CHECK(named(pod["containers"][0]["volumeMounts"], "trainstep")["mountPath"] == "/trainstep");
}

TEST_CASE("each replica knows whether its outputs are those of the job") {
  struct Row {
    const char* kind;
    int workers;
    const char* pointer;  // to the replica's pod
    const char* role;
  };
  const auto row = GENERATE(values<Row>({{"Job", 1, "/spec/template/spec", "primary"},
                                         {"PyTorch", 2, "/spec/pytorchReplicaSpecs/Master/template/spec", "primary"},
                                         {"PyTorch", 2, "/spec/pytorchReplicaSpecs/Worker/template/spec", "replica"},
                                         {"TF", 2, "/spec/tfReplicaSpecs/Worker/template/spec", "replica"},
                                         {"TF", 2, "/spec/tfReplicaSpecs/Chief/template/spec", "primary"},
                                         {"MPI", 2, "/spec/mpiReplicaSpecs/Launcher/template/spec", "rank"},
                                         {"MPI", 2, "/spec/mpiReplicaSpecs/Worker/template/spec", ""}}));
  CAPTURE(row.pointer);
  auto plan = with_agent_in(example(row.kind, row.workers));
  plan.distribution.parameter_servers = 1;
  const auto pod = at(rendered(plan), row.pointer);
  REQUIRE(pod.is_object());
  CHECK(role(at(pod, "/containers/0/command")) == row.role);
  CHECK(pod["initContainers"].size() == 1);  // ranks run in pods whose own command is not ours
  CHECK_FALSE(named(pod["containers"][0]["env"], "TRAINSTEP_TASK").is_null());
}

TEST_CASE("replicas that share one template find their own place by their index") {
  CHECK(role_of({.type = "Worker", .count = 3, .resources = {}, .primary = true}) == "indexed");
  CHECK(role_of({.type = "Worker", .count = 1, .resources = {}, .primary = true}) == "primary");
  CHECK(role_of({.type = "Worker", .count = 3, .resources = {}, .primary = false}) == "replica");
  auto plan = with_agent_in(example("Job", 3));
  plan.distribution.indexed = true;
  CHECK(role(pod_of(plan)["containers"][0]["command"]) == "indexed");
  auto elastic = with_agent_in(example("TF", 3));
  elastic.distribution.parameter_servers = 0;
  CHECK(role(at(rendered(elastic), "/spec/tfReplicaSpecs/Worker/template/spec/containers/0/command")) == "indexed");
}

TEST_CASE("mpirun is run by an agent and runs agents, and takes their task along where ssh does not") {
  for (const auto* version : {"kubeflow.org/v2beta1", "kubeflow.org/v1"}) {
    CAPTURE(version);
    const auto command = at(rendered(with_agent_in(example("MPI", 2)), version), "/spec/mpiReplicaSpecs/Launcher/template/spec/containers/0/command");
    const std::vector<std::string> words = command;
    const auto find = [&](const std::string& word) { return std::ranges::find(words, word) - words.begin(); };
    const auto mpirun = find("mpirun");
    CHECK(std::ranges::count(words, "/trainstep/trainstep") == 2);
    CHECK(find("launcher") < mpirun);
    CHECK(mpirun < find("rank"));
    CHECK(find("rank") < find("python3"));
    CHECK((find("TRAINSTEP_TASK") < static_cast<std::ptrdiff_t>(words.size())) == (std::string_view(version) == "kubeflow.org/v2beta1"));
  }
}

TEST_CASE("the task is not changed by Kubernetes' variable expansion") {
  auto plan = job();
  plan.data.task.outputs = {{"price $(HOME)", spec::Type::artifact, "", "/o", "", {}}};
  const auto variable = named(pod_of(plan)["containers"][0]["env"], "TRAINSTEP_TASK");
  auto text = variable["value"].get<std::string>();
  CHECK(text.find("price $$(HOME)") != std::string::npos);
  text.erase(text.find("$$"), 1);  // as the kubelet does
  CHECK(plan::read_task(Json::parse(text))->outputs.front().name == "price $(HOME)");
}

TEST_CASE("the init container keeps to Pod Security's restricted level, as the user that the program has, if it is not root") {
  struct Row {
    const char* options;
    int user;
  };
  const auto row = GENERATE(values<Row>({{"{}", 65532},
                                         {R"({"security_context": {"runAsUser": 12345}})", 12345},
                                         {R"({"pod_security_context": {"runAsUser": 23456}})", 23456},
                                         {R"({"pod_security_context": {"runAsUser": 23456}, "security_context": {"runAsUser": 12345}})", 12345},
                                         {R"({"security_context": {"runAsUser": 0}})", 65532},
                                         {R"({"pod_security_context": {"fsGroup": 100}})", 65532}}));
  CAPTURE(row.options);
  auto plan = job();
  plan.options = plan::parse_options(options(row.options)).value();
  const auto init = pod_of(plan)["initContainers"][0];
  const auto& context = init["securityContext"];
  CHECK(context["runAsUser"] == row.user);
  CHECK(context["runAsNonRoot"] == true);
  CHECK(context["allowPrivilegeEscalation"] == false);
  CHECK(context["readOnlyRootFilesystem"] == true);
  CHECK(context["capabilities"] == Json{{"drop", Json::array({"ALL"})}});
  CHECK(context["seccompProfile"] == Json{{"type", "RuntimeDefault"}});
  CHECK(init["resources"]["limits"] == init["resources"]["requests"]);
}

TEST_CASE("keys are mounted as files, for the agent's container alone") {
  auto plan = job();
  plan.data.secrets = {{"https://s3.amazonaws.com", "us-east-1", false, "", "", ""}, {"http://minio:9000", "us-east-1", true, "keys", "ak", "sk"}};
  const auto pod = pod_of(plan);
  CHECK(named(pod["volumes"], "trainstep-keys-0").is_null());  // they are in the pod's environment
  CHECK(named(pod["volumes"], "trainstep-keys-1")["secret"] ==
        Json::parse(R"({"secretName": "keys", "items": [{"key": "ak", "path": "access_key"}, {"key": "sk", "path": "secret_key"}]})"));
  const auto mount = named(pod["containers"][0]["volumeMounts"], "trainstep-keys-1");
  CHECK(mount["mountPath"] == "/trainstep/keys/1");
  CHECK(mount["readOnly"] == true);
  CHECK(named(pod["initContainers"][0]["volumeMounts"], "trainstep-keys-1").is_null());
}

TEST_CASE("signing keys are mounted in place of a secret key") {
  auto plan = job();
  plan.data.secrets = {{"http://minio:9000", "us-east-1", true, "train-keys", "ak", "", "sk"}};
  CHECK(named(pod_of(plan)["volumes"], "trainstep-keys-0")["secret"] ==
        Json::parse(R"({"secretName": "train-keys", "items": [{"key": "ak", "path": "access_key"}, {"key": "sk", "path": "signing_keys"}]})"));
}

TEST_CASE("a claim is one volume, however many of its folders are mounted") {
  auto plan = job();
  plan.data.claims = {{"disk", "/mnt/trainstep/0", "a"}, {"disk", "/mnt/trainstep/1", ""}, {"other", "/mnt/trainstep/2", ""}};
  const auto pod = pod_of(plan);
  CHECK(named(pod["volumes"], "trainstep-claim-0")["persistentVolumeClaim"] == Json{{"claimName", "disk"}});
  CHECK(named(pod["volumes"], "trainstep-claim-1").is_null());
  CHECK(named(pod["volumes"], "trainstep-claim-2")["persistentVolumeClaim"] == Json{{"claimName", "other"}});
  const auto& mounts = pod["containers"][0]["volumeMounts"];
  CHECK(count(mounts, "trainstep-claim-0") == 2);
  CHECK(named(mounts, "trainstep-claim-0") == Json{{"name", "trainstep-claim-0"}, {"mountPath", "/mnt/trainstep/0"}, {"subPath", "a"}});
}

TEST_CASE("a claim that the step may only read is only read by the pods") {
  auto plan = job();
  plan.data.claims = {{"disk", "/mnt/trainstep/0", "a", true}};
  const bool written = GENERATE(false, true);
  if (written) plan.data.claims.push_back({"disk", "/mnt/trainstep/1", "b"});
  const auto pod = pod_of(plan);
  CHECK(named(pod["volumes"], "trainstep-claim-0")["persistentVolumeClaim"] ==
        (written ? Json{{"claimName", "disk"}} : Json{{"claimName", "disk"}, {"readOnly", true}}));
  CHECK(named(pod["containers"][0]["volumeMounts"], "trainstep-claim-0")["readOnly"] == true);
  CHECK(count(pod["containers"][0]["volumeMounts"], "trainstep-claim-0") == (written ? 2 : 1));
}

TEST_CASE("a claim that the pod has already is not named twice, unless it may only be read there") {
  auto plan = job();
  plan.data.claims = {{"disk", "/mnt/trainstep/0", ""}};
  SECTION("the job's own") {
    plan.pvc_name = "disk";
    const auto pod = pod_of(plan);
    CHECK(named(pod["volumes"], "trainstep-claim-0").is_null());
    CHECK(count(pod["containers"][0]["volumeMounts"], "train") == 2);
  }
  SECTION("one of job_options.volumes") {
    plan.options = plan::parse_options(options(R"({"volumes": [{"name": "mine", "claim": "disk", "mount_path": "/mine"}]})")).value();
    CHECK(count(pod_of(plan)["containers"][0]["volumeMounts"], "mine") == 2);
  }
  SECTION("one of job_options.volumes that may only be read") {
    plan.options =
        plan::parse_options(options(R"({"volumes": [{"name": "mine", "claim": "disk", "mount_path": "/mine", "read_only": true}]})")).value();
    const auto pod = pod_of(plan);
    CHECK(count(pod["containers"][0]["volumeMounts"], "mine") == 1);
    CHECK(named(pod["volumes"], "trainstep-claim-0")["persistentVolumeClaim"] == Json{{"claimName", "disk"}});
  }
}
