// SPDX-License-Identifier: Apache-2.0
#include "step/task_config.h"

#include "plan/options.h"
#include "support.h"

namespace trainstep::step {
namespace {

using Catch::Matchers::Contains;

Json json(const std::string& text) { return *parse_json(text, "test"); }

TEST_CASE("Settings of a KFP task reach the job as job_options") {
  plan::Request request;
  request.node_selector = {{"zone", "mine"}};
  request.cpus = "1";
  request.job_options = {{"environment", {{"A", "mine"}}}};
  REQUIRE(apply_task_config(json(R"({
    "affinity": {"nodeAffinity": {}}, "tolerations": [{"key": "gpu", "operator": "Exists"}], "nodeSelector": {"zone": "theirs", "disk": "ssd"},
    "env": [{"name": "A", "value": "theirs"}, {"name": "B", "value": "2"}, {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "claim-1"}}, {"name": "tmp", "emptyDir": {}}],
    "volumeMounts": [{"name": "data", "mountPath": "/data", "subPath": "x", "readOnly": true}, {"name": "tmp", "mountPath": "/scratch"}],
    "resources": {"limits": {"cpu": "4", "memory": "8Gi", "amd.com/gpu": "2", "rdma/hca": 1}, "requests": {"memory": "1Gi"}}})"),
                            request)
              .has_value());
  CHECK(request.node_selector == Json{{"zone", "mine"}, {"disk", "ssd"}});
  CHECK(request.cpus == "1");
  CHECK(request.memory == "8Gi");
  CHECK(request.gpus == "2");
  const auto options = plan::parse_options(request.job_options);
  REQUIRE(options.has_value());
  CHECK(options->all.environment == json(R"({"A": "mine", "B": "2", "C": {"secret": "s", "key": "k"}, "D": {"field": "metadata.name"}})"));
  CHECK(options->all.volumes == json(R"([{"name": "data", "mount_path": "/data", "claim": "claim-1", "sub_path": "x", "read_only": true},
                                         {"name": "tmp", "mount_path": "/scratch", "empty_dir": {}}])"));
  CHECK(options->all.tolerations.size() == 1);
  CHECK(options->all.affinity == json(R"({"nodeAffinity": {}})"));
  CHECK(options->all.requests == json(R"({"rdma/hca": "1"})"));
  CHECK(options->gpu_resource == "amd.com/gpu");
}

TEST_CASE("A task configuration of an unused hook changes nothing") {
  plan::Request request;
  REQUIRE(apply_task_config(
              json(R"({"affinity": null, "tolerations": [], "nodeSelector": {}, "env": null, "volumes": [], "volumeMounts": [], "resources": {}})"),
              request)
              .has_value());
  CHECK(request.job_options == Json::object());
  CHECK(request.node_selector == Json::object());
}

TEST_CASE("All fields of a volume or variable are kept") {
  plan::Request request;
  REQUIRE(apply_task_config(json(R"({
    "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": true}}},
            {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k", "optional": false}}, "value": null},
            {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
            {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}}}, {"name": "E", "value": ""}],
    "volumes": [{"name": "a", "secret": {"secretName": "s", "items": [{"key": "k", "path": "p", "mode": null}], "defaultMode": 256.0, "optional": true}},
                {"name": "b", "persistentVolumeClaim": {"claimName": "c", "readOnly": true}},
                {"name": "c", "hostPath": {"path": "/dev/x", "type": "CharDevice"}},
                {"name": "d", "configMap": {"name": "m", "defaultMode": 420}, "secret": null},
                {"name": "e", "csi": {"driver": "d"}}, {"name": "unmounted", "nfs": {}}],
    "volumeMounts": [{"name": "a", "mountPath": "/a", "subPathExpr": "$(POD)/x", "subPath": ""
}, {"name": "b", "mountPath": "/b", "mountPropagation": null},
                     {"name": "c", "mountPath": "/c"}, {"name": "d", "mountPath": "/d", "readOnly": "true"}, {"name": "e", "mountPath": "/e"}]
})"),
                            request)
              .has_value());
  const auto options = plan::parse_options(request.job_options);
  REQUIRE(options.has_value());
  CHECK(options->all.environment == json(R"({"A": {"secret": "s", "key": "k", "optional": true}, "B": {"config_map": "c", "key": "k"},
    "C": {"value_from": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
    "D": {"value_from": {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}}}, "E": ""})"));
  CHECK(nlohmann::json(options->all.volumes) == nlohmann::json(json(R"([
    {"name": "a", "mount_path": "/a", "sub_path_expr": "$(POD)/x",
     "volume": {
  "secret" : { "secretName" : "s", "items" : [ {"key" : "k", "path" : "p"} ], "defaultMode" : 256, "optional" : true }}
  },
    {"name": "b", "mount_path": "/b", "volume": {"persistentVolumeClaim": {"claimName": "c", "readOnly": true}}},
    {"name": "c", "mount_path": "/c", "volume": {"hostPath": {"path": "/dev/x", "type": "CharDevice"}}},
    {"name": "d", "mount_path": "/d", "read_only": true, "volume": {"configMap": {"name": "m", "defaultMode": 420}}},
    {"name": "e", "mount_path": "/e", "volume": {"csi": {"driver": "d"}}}])")));
}

TEST_CASE("A task configuration that job_options cannot express is rejected") {
  plan::Request request;
  struct Row {
    std::string text, part;
  };
  const auto row = GENERATE(
      Row{"[]", "expected an object"},
      Row{R"({"volumeMounts": [{"name": "x", "mountPath": "/x"}]})", "task_config.volumeMounts[0]: unknown volume \"x\""},
      Row{R"({"volumes": [{"name": "x"}], "volumeMounts": [{"name": "x", "mountPath": "/x"}]})", "task_config.volumes[0]: expected one source"},
      Row{R"({"volumes": [{"name": "x", "persistentVolumeClaim": {"claimName": ""}}], "volumeMounts": [{"name": "x", "mountPath": "/x"}]})",
          "task_config.volumes[0].persistentVolumeClaim.claimName: is empty"},
      Row{R"({"volumes": [{"name": "y", "nfs": {}}, {"name": "x", "secret": {"optional": true}}], "volumeMounts": [{"name": "x", "mountPath": "/x"}]})",
          "task_config.volumes[1].secret.secretName: is empty"},
      Row{R"({"volumes": [{"name": "x", "emptyDir": {}}], "volumeMounts": [{"name": "x", "mountPath": "/x", "mountPropagation": "None"}]})",
          "task_config.volumeMounts[0].mountPropagation: not supported"},
      Row{R"({"env": [{"name": "x", "valueFrom": {}}]})", "task_config.env[0].valueFrom: expected an object that names a source"},
      Row{R"({"env": [{"value": "1"}]})", "task_config.env[0].name: is missing"}, Row{R"({"env": ["x"]})", "task_config.env[0]: expected an object"},
      Row{R"({"env": {"A": "1"}})", "task_config.env: expected a list, got an object"},
      Row{R"({"tolerations": {"key": "a"}})", "task_config.tolerations: expected a list"},
      Row{R"({"affinity": [1]})", "task_config.affinity: expected an object, got a list"},
      Row{R"({"nodeSelector": {"zone": "a b"}})", "task_config.nodeSelector: \"a b\" is not a valid value of the label zone"},
      Row{R"({"volumeMounts": [3]})", "task_config.volumeMounts[0]: expected an object"},
      Row{R"({"resources": {"claims": [{"name": "gpu"}]}})", "task_config.resources.claims: not supported"},
      Row{R"({"resources": {"limits": [1]}})", "task_config.resources.limits: expected an object"},
      Row{R"({"hostAliases": [{"ip": "1.2.3.4"}]})", "task_config.hostAliases: not supported"});
  const auto applied = apply_task_config(json(row.text), request);
  REQUIRE_FALSE(applied.has_value());
  CHECK_THAT(applied.error().message, Contains(row.part));
}

}  // namespace
}  // namespace trainstep::step
