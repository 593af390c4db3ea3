// SPDX-License-Identifier: Apache-2.0
#include "spec/platform.h"

#include "unit/spec/support.h"

using namespace trainstep;
using namespace trainstep::spec;
using Catch::Matchers::Contains;

TEST_CASE("the settings of kfp-kubernetes become job options") {
  auto text = data("v2_one_step.yaml");
  const auto expected = Json::parse(R"({
    "run_policy": {"active_deadline": 3600},
    "environment": {"K": {"config_map": "cm", "key": "k"}, "NODE": {"field": "spec.nodeName"}, "AWS_ACCESS_KEY_ID": {"secret": "s3", "key": "key"}},
    "volumes": [{"mount_path": "/cfg", "config_map": "cfg"},
                {"mount_path": "/scratch", "empty_dir": {"medium": "Memory", "sizeLimit": "2Gi"}},
                {"mount_path": "/data", "claim": "data-claim", "sub_path": "x"},
                {"mount_path": "/certs", "secret": "certs"}],
    "image_pull_policy": "Always",
    "image_pull_secrets": ["pull"],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
      {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}},
    "node_selector": {"disk": "ssd"},
    "labels": {"team": "x"},
    "annotations": {"note": "y"},
    "security_context": {"runAsGroup": 1000, "runAsNonRoot": true, "runAsUser": 1000},
    "tolerations": [{"effect": "NoSchedule", "key": "gpu", "operator": "Equal", "tolerationSeconds": 30, "value": "yes"}]})");
  const auto platform = read(text).platform;
  for (const auto& [key, value] : expected.items()) {
    INFO(key);
    REQUIRE(platform.contains(key));
    CHECK(nlohmann::json(platform[key]) == nlohmann::json(value));
  }
  CHECK(platform.size() == expected.size());
}

TEST_CASE("JSON forms and weights of kfp-kubernetes are understood") {
  struct Row {
    const char* setting;
    const char* options;
  };
  for (
      const auto& row : std::vector<Row>{
          {R"({"nodeSelector": {"nodeSelectorJson": {"runtimeValue": {"constant": {"a": "b"}}}}})", R"({"node_selector": {"a": "b"}})"},
          {R"({"tolerations": [{"tolerationJson": {"runtimeValue": {"constant": [{"key": "a"}, {"key": "b"}]}}}]})",
           R"({"tolerations": [{"key": "a"}, {"key": "b"}]})"},
          {R"({"tolerations": [{"tolerationJson": {"runtimeValue": {"constant": {"key": "a"}}}}]})", R"({"tolerations": [{"key": "a"}]})"},
          {R"({"nodeAffinity": [{"weight": 5, "matchFields": []}]})",
           R"({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": {"matchFields": []}}]}}})"},
          {R"({"pvcMount": [{"constant": "old", "mountPath": "/d"}]})", R"({"volumes": [{"mount_path": "/d", "claim": "old"}]})"},
          {R"({"enabledSharedMemory": {"volumeName": "shm", "size": "2Gi"}})", R"({"shared_memory": "2Gi"})"},
          {R"({"secretAsVolume": [{"secretName": "s", "mountPath": "/d", "optional": true}]})",
           R"({"volumes": [{"mount_path": "/d", "volume": {"secret": {"secretName": "s", "optional": true}}}]})"},
          {R"({"configMapAsVolume": [{"configMapName": "c", "mountPath": "/d", "optional": "true"}]})",
           R"({"volumes": [{"mount_path": "/d", "volume": {"configMap": {"name": "c", "optional": true}}}]})"},
          {R"({"secretAsEnv": [{"secretName": "s", "optional": true, "keyToEnv": [{"secretKey": "k", "envVar": "A"}]}]})",
           R"({"environment": {"A": {"secret": "s", "key": "k", "optional": true}}})"},
          {R"({})", R"({})"},
      }) {
    INFO(row.setting);
    const auto options = read_platform(Json::parse(row.setting), "p");
    REQUIRE(options);
    CHECK(nlohmann::json(*options) == nlohmann::json::parse(row.options));
  }
}

TEST_CASE("what cannot be translated names the key and what to use instead") {
  struct Row {
    const char* setting;
    const char* message;
  };
  for (const auto& row : std::vector<Row>{
           {R"({"genericEphemeralVolume": [{}]})", "p.genericEphemeralVolume: not supported; use job_options.volumes with a claim or empty_dir"},
           {R"({"podAffinity": [{}]})", "p.podAffinity: not supported; use job_options.affinity"},
           {R"({"initContainers": []})", "p.initContainers: not supported; omit it"},
           {R"({"secretAsEnv": [{"secretNameParameter": {"componentInputParameter": "sec"}, "keyToEnv": []}]})",
            "p.secretAsEnv[0].secretNameParameter: depends on a pipeline parameter or another task and is not known here; use "
            "job_options.environment"},
           {R"({"pvcMount": [{"taskOutputParameter": {"producerTask": "createpvc"}, "mountPath": "/d"}]})",
            "p.pvcMount[0].taskOutputParameter: depends on a pipeline parameter or another task and is not known here; use job_options.volumes"},
           {R"({"secretAsVolume": [{"secretName": "s", "mountPath": "/d", "optional": "x"}]})",
            "p.secretAsVolume[0].optional: expected true or false"},
           {R"({"pvcMount": [{"constant": "c", "mountPath": "/d", "readOnly": true}]})",
            "p.pvcMount[0].readOnly: not supported; use job_options.volumes"},
           {R"({"secretAsEnv": [{"secretName": "s", "prefix": "X_", "keyToEnv": []}]})", "p.secretAsEnv[0].prefix: not supported"},
           {R"({"secretAsVolume": [{"secretName": "{{$.inputs.parameters['x']}}", "mountPath": "/d"}]})",
            "secretName: depends on a pipeline parameter"},
           {R"({"secretAsVolume": [{"secretName": "s"}]})", "p.secretAsVolume[0].mountPath: is missing"},
           {R"({"secretAsVolume": {}})", "p.secretAsVolume: expected a list"},
           {R"({"secretAsVolume": [3]})", "p.secretAsVolume[0]: expected an object"},
           {R"({"nodeSelector": {"nodeSelectorJson": {"componentInputParameter": "sel"}}})", "nodeSelectorJson: depends on a pipeline parameter"},
           {R"({"nodeSelector": {"labels": {"a": "{{$.inputs.parameters['x']}}"}}})", "p.nodeSelector.labels: depends on a pipeline parameter"},
           {R"({"activeDeadlineSeconds": "soon"})", "p.activeDeadlineSeconds: expected a number of seconds"},
           {R"([])", "p: expected an object"},
       }) {
    INFO(row.setting);
    const auto options = read_platform(Json::parse(row.setting), "p");
    REQUIRE_FALSE(options);
    CHECK(options.error().kind == ErrorKind::input);
    CHECK_THAT(options.error().message, Contains(row.message));
  }
  CHECK_THAT(error_of(data("v2_runtime_platform.yaml")),
             Contains("train_specification.platforms.kubernetes.deploymentSpec.executors.exec-fit.nodeSelector.nodeSelectorJson: depends on"));
}
