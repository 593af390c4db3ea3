// Where pods go that share a claim of one node.
// SPDX-License-Identifier: Apache-2.0
#include "job_types/affinity.h"

#include "unit/job_types/example.h"

using namespace trainstep;
using namespace trainstep::job_types;
using namespace trainstep::job_types::test;

namespace {

constexpr auto on_node = R"({"key":"metadata.name","operator":"In","values":["node-1"]})";

std::string affinity(const plan::Nodes& nodes, const char* given = "null") {
  auto plan = example("PyTorch", 2);
  plan.nodes = nodes;
  plan.labels.emplace_back("trainstep.dev/model", "digits");
  return to_text(affinity_of(plan, Json::parse(given)));
}

std::string filled(std::string text) {
  for (auto at = text.find("NODE"); at != std::string::npos; at = text.find("NODE")) text.replace(at, 4, on_node);
  return to_text(Json::parse(text));
}

}  // namespace

TEST_CASE("without a choice of nodes affinity is what was given") {
  CHECK(affinity({}) == "null");
  CHECK(affinity({}, R"({"podAntiAffinity":{}})") == R"({"podAntiAffinity":{}})");
}

TEST_CASE("a chosen node is demanded by its name, in each of the given alternatives") {
  const plan::Nodes node{"node-1", true, "claim data (ReadWriteOnce)"};
  CHECK(affinity(node) ==
        filled(R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[NODE]}]}}})"));
  const auto* given = R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
      {"matchExpressions":[{"key":"gpu","operator":"Exists"}]},{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["a"]}]}]}},
      "podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[]}})";
  CHECK(affinity(node, given) == filled(R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
      {"matchExpressions":[{"key":"gpu","operator":"Exists"}],"matchFields":[NODE]},
      {"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["a"]},NODE]}]}},
      "podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[]}})"));
}

TEST_CASE("pods that must run together have affinity to those of their own job, not of another job of their run") {
  const plan::Nodes together{"", true, "job_options.single_node"};
  const std::string terms = R"("requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{"matchLabels":)"
                            R"({"trainstep.dev/run":"run-1","trainstep.dev/model":"digits"}},"topologyKey":"kubernetes.io/hostname"}])";
  CHECK(affinity(together) == R"({"podAffinity":{)" + terms + "}}");
  CHECK(affinity(together, R"({"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}]}})") ==
        R"({"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}],)" + terms + "}}");
}

// The scheduler wants pods that all terms are true of: those of another application are never ours.
TEST_CASE("pods co-located with others by job_options.affinity are left unchanged") {
  const auto* given = R"({"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"}]}})";
  CHECK(affinity({"", true, "job_options.single_node"}, given) == given);
  CHECK(has_pod_affinity(Json::parse(given)));
  for (const auto* none : {"null", "3", "{}", R"({"podAffinity":3})", R"({"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[]}})"})
    CHECK_FALSE(has_pod_affinity(Json::parse(none)));
}

TEST_CASE("affinity of another form than Kubernetes' stays as it is") {
  const auto* odd = GENERATE(
      R"({"nodeAffinity":3,"podAffinity":"a"})", R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[]},"podAffinity":[]})",
      R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":"a"}},"podAffinity":true})",
      R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[3,{"matchFields":{}}]}},"podAffinity":0})");
  CHECK(affinity({"node-1", true, "claim data (ReadWriteOnce)"}, odd) == odd);
  CHECK(affinity({"", true, "job_options.single_node"}, odd) == odd);
}

TEST_CASE("every pod of a job has it, and its source is named") {
  for (const auto* kind : {"Job", "PyTorch", "MPI", "TF"}) {
    auto plan = example(kind, 2);
    plan.nodes = {"node-1", true, "claim data (ReadWriteOnce)"};
    const auto text = to_text(rendered(plan));
    std::size_t templates = 0, affinities = 0;
    for (auto at = text.find("\"containers\""); at != std::string::npos; at = text.find("\"containers\"", at + 1)) ++templates;
    for (auto at = text.find(on_node); at != std::string::npos; at = text.find(on_node, at + 1)) ++affinities;
    CAPTURE(kind, text);
    CHECK(templates > 0);
    CHECK(affinities == templates);
  }
}

TEST_CASE("job_options.single_node keeps all pods together") {
  plan::Request request;
  request.train_specification = R"({"image": "i", "command": ["train"]})";
  request.job_options = {{"single_node", true}};
  const auto plan = plan::make_plan(request, traits());
  REQUIRE(plan);
  CHECK(plan->nodes.together);
  CHECK(plan->nodes.source == "job_options.single_node");
}
