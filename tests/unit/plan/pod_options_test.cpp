// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "plan/options.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;
using Catch::Matchers::Contains;

namespace {

Json json(const std::string& text) { return *parse_json(text, "test"); }

}  // namespace

TEST_CASE("pod options are normalised, however they were written") {
  struct Row {
    const char* written;
    const char* wanted;
  };
  const Row environments[] = {
      {R"({"A": "x", "B": "", "C": 2.0, "D": true, "E": null})", R"({"A": "x", "B": "", "C": "2", "D": "true"})"},
      {R"({"A": {"secret": "s", "key": "k", "config_map": "", "optional": "true"}})", R"({"A": {"secret": "s", "key": "k", "optional": true}})"},
      {R"({"A": {"secret": null, "config_map": "c", "key": "k", "optional": false}})", R"({"A": {"config_map": "c", "key": "k"}})"},
      {R"({"A": {"field": "metadata.name", "secret": ""}})", R"({"A": {"field": "metadata.name"}})"},
      {R"({"A": {"value_from": {"resourceFieldRef": {"resource": "limits.cpu"}}}})",
       R"({"A": {"value_from": {"resourceFieldRef": {"resource": "limits.cpu"}}}})"},
      {R"("")", "{}"},
  };
  for (const auto& [written, wanted] : environments) {
    INFO(written);
    const auto options = parse_options({{"environment", json(written)}});
    REQUIRE(options);
    CHECK(options->all.environment == json(wanted));
  }
  const Row volumes[] = {
      {R"([{"mount_path": "/d", "claim": "c", "secret": "", "config_map": null, "host_path": " ", "empty_dir": ""}])",
       R"([{"mount_path": "/d", "claim": "c"}])"},
      {R"([{"mount_path": "/d", "claim": "c", "read_only": "True", "sub_path": "", "name": ""}])",
       R"([{"mount_path": "/d", "claim": "c", "read_only": true}])"},
      {R"([{"mount_path": "/d", "claim": "c", "read_only": null}])", R"([{"mount_path": "/d", "claim": "c"}])"},
      {R"([{"mount_path": "/d", "claim": "", "empty_dir": {}}])", R"([{"mount_path": "/d", "empty_dir": {}}])"},
      {R"([{"mount_path": "/d", "empty_dir": true}])", R"([{"mount_path": "/d", "empty_dir": {}}])"},
      {R"([{"mount_path": "/d", "sub_path_expr": "$(POD)/x", "volume": {"nfs": {"server": "s", "path": "/"}}}])",
       R"([{"mount_path": "/d", "sub_path_expr": "$(POD)/x", "volume": {"nfs": {"server": "s", "path": "/"}}}])"},
      {R"("")", "[]"},
  };
  for (const auto& [written, wanted] : volumes) {
    INFO(written);
    const auto options = parse_options({{"volumes", json(written)}});
    REQUIRE(options);
    CHECK(nlohmann::json(options->all.volumes) == nlohmann::json(json(wanted)));
  }
  const auto others =
      parse_options(json(R"({"labels": {"a": 2.0, "b": true, "c": null}, "node_selector": {"n": 1}, "requests": {"rdma/hca": 1, "x/y": ""},
      "image_pull_secrets": ["", "pull", null], "tolerations": [null, {"key": "a"}, ""], "host_network": "", "gpu_resource": "", "queue": "", "patch": "",
      "logs": "", "shared_memory": "", "replicas": {"Worker": "", "PS": null}, "run_policy": "", "limits": {"running": ""}, "cleanup": "",
      "affinity": "", "checkpoint_dir": " "})"));
  REQUIRE(others);
  CHECK(others->all.labels == Json{{"a", "2"}, {"b", "true"}});
  CHECK(others->all.node_selector == Json{{"n", "1"}});
  CHECK(others->all.requests == Json{{"rdma/hca", "1"}});
  CHECK(others->all.image_pull_secrets == Json::array({"pull"}));
  CHECK(others->all.tolerations == Json::array({Json{{"key", "a"}}}));
  CHECK(others->gpu_resource == "nvidia.com/gpu");
  CHECK(others->patch.is_null());
  CHECK(others->logs.empty());
  CHECK(others->checkpoint_dir.empty());
  CHECK_FALSE(others->limits.running);
}

TEST_CASE("a pod option that cannot be meant is refused by its place") {
  struct Row {
    const char* text;
    const char* said;
  };
  for (const auto& row : std::vector<Row>{
           {R"({"volumes": [{"mount_path": "/d", "claim": ""}]})", "job_options.volumes[0].claim: is empty"},
           {R"({"volumes": [{"mount_path": "/d", "secret": " "}]})", "job_options.volumes[0].secret: is empty"},
           {R"({"volumes": [{"mount_path": "/d", "config_map": ""}]})", "job_options.volumes[0].config_map: is empty"},
           {R"({"volumes": [{"mount_path": "/d", "host_path": "", "claim": ""}]})", "job_options.volumes[0].claim: is empty"},
           {R"({"volumes": [{"mount_path": "/d"}]})", "job_options.volumes[0]: expected exactly one of"},
           {R"({"volumes": [{"mount_path": "/d", "claim": "Data Set"}]})",
            "job_options.volumes[0].claim: \"Data Set\" is not a valid Kubernetes object name"},
           {R"({"volumes": [{"mount_path": "/d", "claim": "a\nb"}]})", "job_options.volumes[0].claim"},
           {R"({"volumes": [{"mount_path": "/d", "claim": 3}]})", "job_options.volumes[0].claim: expected a string, got 3"},
           {R"({"volumes": [{"mount_path": "/d", "claim": "c", "read_only": "maybe"}]})", "job_options.volumes[0].read_only: expected true or false"},
           {R"({"volumes": [{"mount_path": "/d:ro", "claim": "c"}]})", "job_options.volumes[0].mount_path"},
           {R"({"volumes": [{"mount_path": "/d", "empty_dir": 3}]})", "job_options.volumes[0].empty_dir: expected an object"},
           {R"({"volumes": [{"mount_path": "/d", "volume": {}}]})", "job_options.volumes[0].volume: expected a Kubernetes volume"},
           {R"({"volumes": [{"mount_path": "/d", "claim": "c", "sub_path": "a", "sub_path_expr": "b"}]})", "are mutually exclusive"},
           {R"({"volumes": ["x"]})", "job_options.volumes[0]: expected an object"},
           {R"({"environment": {"A=B": "1"}})", "\"A=B\" is not a valid variable name"},
           {R"({"environment": {"A\nB": "1"}})", "\"A\\nB\" is not a valid variable name"},
           {R"({"environment": {"": "1"}})", "\"\" is not a valid variable name"},
           {R"({"environment": {"A\u0007": "1"}})", "is not a valid variable name"},
           {R"({"environment": {"A": {"secret": "s", "key": ""}}})", "job_options.environment.A: expected a string"},
           {R"({"environment": {"A": {"field": "x", "optional": true}}})", "job_options.environment.A"},
           {R"({"environment": {"A": {"field": "x", "optional": false}}})", "job_options.environment.A: expected a string, {"},
           {R"({"environment": {"A": {"value_from": {}}}})", "job_options.environment.A.value_from: expected a Kubernetes EnvVarSource"},
           {R"({"environment": {"A": {"secret": "s", "key": "k", "field": "f"}}})", "job_options.environment.A"},
           {R"({"environment": {"A": ["x"]}})", "job_options.environment.A"},
           {R"({"labels": {"a": {"b": 1}}})", "job_options.labels.a: expected a string, got an object"},
           {R"({"annotations": {"a": []}})", "job_options.annotations.a: expected a string"},
           {R"({"node_selector": {"a": [1]}})", "job_options.node_selector.a: expected a string"},
           {R"({"requests": {"cpu": "abc"}})", "job_options.requests.cpu: \"abc\" is not a valid quantity"},
           {R"({"requests": {"memory": "512m"}})", "job_options.requests.memory: \"512m\" is 0.512 bytes; write a unit such as 512Mi or 512M"},
           {R"({"requests": {"rdma/hca": {}}})", "job_options.requests.rdma/hca"},
           {R"({"shared_memory": "64"})", "job_options.shared_memory: \"64\" is 64 bytes; write a unit such as 64Mi or 64Gi"},
           {R"({"tolerations": ["x"]})", "job_options.tolerations[0]: expected an object, got a string"},
           {R"({"image_pull_secrets": ["A B"]})", "job_options.image_pull_secrets: \"A B\" is not a valid Kubernetes object name"},
           {R"({"service_account": "a\nb"})", "job_options.service_account"},
           {R"({"service_account": "a..b"})", "job_options.service_account: \"a..b\" is not a valid Kubernetes object name"},
           {R"({"labels": {"a b": "x"}})", "job_options.labels: \"a b\" is not a valid label key"},
           {R"({"labels": {"team": "a b"}})", "job_options.labels.team: \"a b\" is not a valid label value"},
           {R"({"replicas": {"Worker": {"labels": {"team": "-"}}}})", "job_options.replicas.Worker.labels.team: \"-\" is not a valid label value"},
           {R"({"annotations": {"a/b/c": "x"}})", "job_options.annotations: \"a/b/c\" is not a valid annotation key"},
           {R"({"node_selector": {"zone": "a/b"}})", "job_options.node_selector.zone: \"a/b\" is not a valid label value"},
           {R"({"requests": {"hca": 1}})", "job_options.requests: \"hca\" is not the name of a resource"},
           {R"({"requests": {"rdma/hca": 0.5}})", "job_options.requests.rdma/hca: \"0.5\" is not an integer"},
           {R"({"gpu_resource": "gpu"})", "job_options.gpu_resource: \"gpu\" is not the name of a resource"},
           {R"({"queue": "Team A"})", "job_options.queue: \"Team A\" is not the name of a LocalQueue"},
           {R"({"tolerations": [{"key": "a b"}]})", "job_options.tolerations[0].key: \"a b\" is not a valid label key"},
           {R"({"tolerations": [{"operator": "In"}]})", "job_options.tolerations[0].operator: unknown value \"In\""},
           {R"({"tolerations": [{"operator": "Equal"}]})", "job_options.tolerations[0].key: is missing"},
           {R"({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]})", "job_options.tolerations[0].value: the operator \"Exists\""},
           {R"({"tolerations": [{"key": "a", "value": "b c"}]})", "job_options.tolerations[0].value: \"b c\" is not a valid label value"},
           {R"({"tolerations": [{"key": "a", "effect": "Never"}]})", "job_options.tolerations[0].effect: unknown value"},
           {R"({"tolerations": [{"key": "a", "tolerationSeconds": 3}]})", "job_options.tolerations[0].tolerationSeconds: requires"},
           {R"({"tolerations": [{"key": "a", "effects": "NoExecute"}]})", "did you mean \"effect\""},
           {R"({"environment": {"1A": "x"}})", "job_options.environment: \"1A\" is not a valid variable name"},
           {R"({"environment": {"Ä": "x"}})", "job_options.environment: \"Ä\" is not a valid variable name"},
           {R"({"environment": {"A": {"secret": "S", "key": "k"}}})",
            "job_options.environment.A.secret: \"S\" is not a valid Kubernetes object name"},
           {R"({"environment": {"A": {"config_map": "s", "key": "a/b"}}})", "job_options.environment.A.key: \"a/b\" is not a key"},
           {R"({"volumes": [{"mount_path": "/", "claim": "c"}]})", "job_options.volumes[0].mount_path: / would hide all files of the image"},
           {R"({"volumes": [{"mount_path": "/d", "claim": "c", "sub_path": "a/../.."}]})", "job_options.volumes[0].sub_path: \"a/../..\" contains"},
           {R"({"volumes": [{"mount_path": "/d", "claim": "c", "sub_path_expr": "/a"}]})",
            "job_options.volumes[0].sub_path_expr: \"/a\" is not a path within"},
           {R"({"volumes": [{"mount_path": "/d", "host_path": "data"}]})", "job_options.volumes[0].host_path: \"data\" is not an absolute path"},
           {R"({"volumes": [{"mount_path": "/d", "host_path": "/a/../b"}]})", "job_options.volumes[0].host_path: \"/a/../b\" contains"},
           {R"({"replicas": {"Worker": {"volumes": [{"mount_path": "/d", "claim": ""}]}}})",
            "job_options.replicas.Worker.volumes[0].claim: is empty"},
           {R"({"replicas": {"Worker": {"requests": {"cpu": "1e3Mi"}}}})", "job_options.replicas.Worker.requests.cpu: \"1e3Mi\""},
       }) {
    INFO(row.text);
    const auto options = parse_options(json(row.text));
    REQUIRE_FALSE(options);
    CHECK(options.error().kind == ErrorKind::input);
    CHECK_THAT(options.error().message, Contains(row.said));
  }
}
