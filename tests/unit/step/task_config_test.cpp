// SPDX-License-Identifier: Apache-2.0
#include "step/task_config.h"

#include "plan/options.h"
#include "support.h"

namespace trainstep::step {
namespace {

using Catch::Matchers::Contains;

Json json(const std::string& text) { return *parse_json(text, "test"); }

TEST_CASE("What was set on a KFP task reaches the job in the words of job_options") {
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

TEST_CASE("What a task configuration cannot say in job_options is refused") {
  plan::Request request;
  struct Row {
    std::string text, part;
  };
  const auto row =
      GENERATE(Row{"[]", "wants an object"}, Row{R"({"volumeMounts": [{"name": "x", "mountPath": "/x"}]})", "there is no volume \"x\""},
               Row{R"({"volumes": [{"name": "x", "ephemeral": {}}], "volumeMounts": [{"name": "x", "mountPath": "/x"}]})", "not supported"},
               Row{R"({"env": [{"name": "x", "valueFrom": {"resourceFieldRef": {}}}]})", "the source of x is not supported"});
  const auto applied = apply_task_config(json(row.text), request);
  REQUIRE_FALSE(applied.has_value());
  CHECK_THAT(applied.error().message, Contains(row.part));
}

}  // namespace
}  // namespace trainstep::step
