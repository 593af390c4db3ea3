// SPDX-License-Identifier: Apache-2.0
#include "job_types/patched.h"

#include <string>
#include <vector>

#include "job_types/size.h"
#include "unit/job_types/example.h"

using namespace trainstep;
using namespace trainstep::job_types;
using namespace trainstep::job_types::test;
using Catch::Matchers::Contains;

TEST_CASE("a patch that breaks the manifest's structure is rejected with its location") {
  struct Row {
    const char* kind;
    const char* patch;
    const char* said;  // empty: it is taken
  };
  for (const auto& row : std::vector<Row>{
           {"Job", R"({"metadata": {"annotations": "x"}})",
            "job_options.patch: metadata.annotations: expected an object, but the patch makes it \"x\""},
           {"Job", R"({"metadata": {"labels": ["x"]}})", "metadata.labels: expected an object"},
           {"Job", R"({"metadata": {"labels": {"a": 3}}})", "metadata.labels.a: expected a string, but the patch makes it 3"},
           {"Job", R"({"metadata": {"labels": {"a": "b c"}}})", "job_options.patch: metadata.labels.a: \"b c\" is not a valid label value"},
           {"Job", R"({"metadata": "x"})", "metadata: expected an object"},
           {"Job", R"({"spec": [1]})", "spec: expected an object"},
           {"Job", R"({"spec": {"template": 3}})", "spec.template: expected an object"},
           {"Job", R"({"spec": {"template": {"metadata": 3}}})", "spec.template.metadata: expected an object"},
           {"Job", R"({"spec": {"template": {"metadata": {"labels": "x"}}}})", "spec.template.metadata.labels: expected an object"},
           {"Job", R"({"spec": {"template": {"spec": {"containers": {}}}}})", "spec.template.spec.containers: expected a list"},
           {"Job", R"({"spec": {"template": {"spec": {"initContainers": ["x"]}}}})", "spec.template.spec.initContainers[0]: expected an object"},
           {"Job", R"([{"op": "replace", "path": "", "value": 3}])", "the manifest: expected an object"},
           {"Job", R"([{"op": "replace", "path": "", "value": []}])", "the manifest: expected an object"},
           {"Job", R"([{"op": "add", "path": "/metadata/annotations", "value": false}])", "metadata.annotations: expected an object"},
           {"PyTorch", R"({"spec": {"pytorchReplicaSpecs": "x"}})", "spec.pytorchReplicaSpecs: expected an object"},
           {"PyTorch", R"({"spec": {"pytorchReplicaSpecs": {"Worker": 1}}})", "spec.pytorchReplicaSpecs.Worker: expected an object"},
           {"PyTorch", R"({"spec": {"pytorchReplicaSpecs": {"Worker": {"template": []}}}})",
            "spec.pytorchReplicaSpecs.Worker.template: expected an object"},
           {"Job", R"([{"op": "remove", "path": "/metadata/annotations"}])", "it identifies the job"},
           {"Job", R"([{"op": "add", "path": "/metadata/annotations", "value": null}])", "it identifies the job"},
           {"Job", R"({"spec": {"template": {"metadata": {"labels": null}}}})", "it identifies the job"},
           {"Job", R"({"metadata": {"annotations": {"note": "x"}}, "spec": {"template": {"metadata": {"labels": {"team": "x"}}}}})", ""},
           {"Job", R"({"spec": {"completions": 0}})", "job_options.patch: spec.completions: expected at least 1, but the patch makes it 0"},
           {"Job", R"({"spec": {"parallelism": 0}})", "spec.parallelism: expected at least 1"},
           {"PyTorch", R"({"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 0}}}})",
            "spec.pytorchReplicaSpecs.Worker.replicas: expected at least 1"},
           {"MPI", R"({"spec": {"mpiReplicaSpecs": {"Launcher": {"replicas": 0}}}})", "spec.mpiReplicaSpecs.Launcher.replicas: expected at least 1"},
           {"TF", R"([{"op": "replace", "path": "/spec/tfReplicaSpecs/Chief/replicas", "value": 0}])",
            "spec.tfReplicaSpecs.Chief.replicas: expected at least 1"},
           {"Job", R"({"spec": {"completions": 1, "parallelism": null}})", ""},
       }) {
    CAPTURE(row.kind, row.patch);
    auto plan = example(row.kind, row.kind == std::string("Job") ? 1 : 2);
    plan.options.patch = Json::parse(row.patch);
    const auto manifest = render(plan, "");
    CHECK(manifest.has_value() == std::string(row.said).empty());
    if (!manifest) CHECK_THAT(manifest.error().message, Contains(row.said));
    if (!manifest) CHECK(manifest.error().kind == ErrorKind::input);
  }
}

TEST_CASE("a manifest that etcd would not take is refused, with the input that makes most of it") {
  auto plan = example("Job", 1);
  plan.environment = {{"SMALL", "x", "train_specification"}};
  for (int i = 0; i < 12; ++i) plan.environment.push_back({"A" + std::to_string(i), std::string(120'000, 'x'), "job_options.environment"});
  const auto manifest = render(plan, "");
  REQUIRE_FALSE(manifest);
  CHECK_THAT(manifest.error().message, Contains("the Kubernetes limit is 1400000 (1440000 of them from job_options.environment)"));
}

TEST_CASE("strings that the kernel does not accept are rejected in every container, including a patch's") {
  const auto said = [](const std::string& type, const std::string& patch, std::size_t size) {
    auto plan = example(type, 2);
    auto text = patch;
    text.replace(text.find("LONG"), 4, std::string(size, 'x'));
    plan.options.patch = Json::parse(text);
    const auto manifest = render(plan, "");
    return manifest ? std::string() : manifest.error().message;
  };
  const std::string word = R"([{"op": "add", "path": "/spec/pytorchReplicaSpecs/Worker/template/spec/containers/0/args", "value": ["a", "LONG"]}])";
  CHECK(said("PyTorch", word, 131'071).empty());
  CHECK_THAT(said("PyTorch", word, 131'072),
             Contains("job_options.patch: an argument of a container's command line has 131072 bytes, the Linux limit is 131071"));
  const std::string variable =
      R"({"spec": {"template": {"spec": {"initContainers": [{"name": "first", "image": "a", "env": [{"name": "A", "value": "LONG"}]}]}}}})";
  CHECK(said("Job", variable, 131'069).empty());
  CHECK_THAT(said("Job", variable, 131'070), Contains("job_options.patch: the variable A has 131072 bytes, the Linux limit is 131071"));
  auto plan = example("Job", 1);
  plan.environment = {{"DOLLARS", std::string(100'000, '$'), "job_options.environment"}};  // twice as many in the manifest
  CHECK(render(plan, ""));
}

TEST_CASE("pods need an image, from the specification or their own type") {
  auto plan = example("PyTorch", 2);
  plan.image.value = "";
  CHECK_THAT(render(plan, "").error().message, Contains("train_specification: no image"));
  plan.options.replicas["Master"].image = "a:1";
  CHECK_FALSE(render(plan, ""));
  plan.options.replicas["Worker"].image = "a:1";
  CHECK(render(plan, ""));
}

TEST_CASE("volumes and variables reach the pod with all their fields") {
  auto plan = example("Job", 1);
  plan.environment = {{"A", Json{{"secret", "s"}, {"key", "k"}, {"optional", true}}, ""},
                      {"B", Json{{"config_map", "c"}, {"key", "k"}}, ""},
                      {"C", Json{{"value_from", {{"resourceFieldRef", {{"resource", "limits.cpu"}}}}}}, ""}};
  plan.options.all.volumes = Json::parse(R"([
    {"name": "a", "mount_path": "/a", "claim": "c", "read_only": true}, {"name": "a", "mount_path": "/b", "claim": "c"},
    {"mount_path": "/c", "volume": {"secret": {"secretName": "s", "defaultMode": 256, "items": [{"key": "k", "path": "p"}]}}, "sub_path_expr": "$(POD)/x"
},
    {"mount_path": "/d", "claim": "d", "read_only": true}, {"name": "volume-2", "mount_path": "/e", "empty_dir": {}}])");
  const auto pod = at(rendered(plan), "/spec/template/spec");
  CHECK(pod["containers"][0]["env"] == Json::parse(R"([
    {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": true}}},
    {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
    {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}])"));
  CHECK(pod["volumes"] == Json::parse(R"([{"name": "train", "emptyDir": {}},
    {"name": "a", "persistentVolumeClaim": {"claimName": "c"}},
    {"name": "volume-2-x", "secret": {"secretName": "s", "defaultMode": 256, "items": [{"key": "k", "path": "p"}]}},
    {"name": "volume-3", "persistentVolumeClaim": {"claimName": "d", "readOnly": true}},
    {"name": "volume-2", "emptyDir": {}}])"));
  CHECK(pod["containers"][0]["volumeMounts"] == Json::parse(R"([{"name": "train", "mountPath": "/train"},
    {"name": "a", "mountPath": "/a", "readOnly": true}, {"name": "a", "mountPath": "/b"},
    {"name": "volume-2-x", "mountPath": "/c", "subPathExpr": "$(POD)/x"
  },
    {"name": "volume-3", "mountPath": "/d", "readOnly": true}, {"name": "volume-2", "mountPath": "/e"}])"));
}

TEST_CASE("a volume of the user at our own mounts takes their place, however its path is written") {
  auto plan = example("PyTorch", 2);
  plan.options.all.volumes =
      Json::parse(R"([{"name": "train", "mount_path": "/train/", "claim": "c"}, {"mount_path": "/dev/./shm", "empty_dir": {}}])");
  const auto pod = at(rendered(plan), "/spec/pytorchReplicaSpecs/Worker/template/spec");
  CHECK(pod["volumes"] == Json::parse(R"([{"name": "train", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "volume-1", "emptyDir": {}}])"));
}

TEST_CASE("a value that a patch puts in a wrong place is shown without its secrets") {
  const auto* patch = GENERATE(R"({"metadata": {"annotations": {"api_key": {"password": "Zq7SECRETVALUE9x"}}}})",
                               R"({"spec": {"template": {"spec": {"containers": {"password": "Zq7SECRETVALUE9x"}}}}})",
                               R"({"metadata": {"labels": {"token": ["Zq7SECRETVALUE9x"]}}})");
  auto plan = example("Job", 1);
  plan.options.patch = Json::parse(patch);
  const auto manifest = render(plan, "");
  REQUIRE_FALSE(manifest);
  CHECK_THAT(manifest.error().message, Contains("but the patch makes it") && !Contains("Zq7"));
}

TEST_CASE("a patch may neither copy without end nor have operations without end") {
  auto plan = example("Job", 1);
  plan.options.patch = Json::array();
  for (int i = 0; i < 40; ++i) plan.options.patch.push_back(Json{{"op", "copy"}, {"from", "/spec"}, {"path", "/spec/x" + std::to_string(i)}});
  const auto copied = render(plan, "");
  REQUIRE_FALSE(copied);
  CHECK_THAT(copied.error().message, Contains("the operations copy more than 1400000 bytes"));
  plan.options.patch = Json::array();
  for (int i = 0; i < 1001; ++i) plan.options.patch.push_back(Json{{"op", "test"}, {"path", "/kind"}, {"value", "Job"}});
  const auto many = render(plan, "");
  REQUIRE_FALSE(many);
  CHECK_THAT(many.error().message, Contains("1001 operations, the limit is 1000; use a merge patch"));
}
