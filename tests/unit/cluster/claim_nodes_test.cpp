// On which nodes pods run whose claims not every node can have.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/claim_nodes.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "job_types/job_type.h"
#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using Catch::Matchers::Contains;
using enum ClaimAccess;

namespace {

plan::Plan plan_of(int workers, const Json& options = Json::object()) {
  plan::Request request;
  request.train_specification = R"({"image": "i", "command": ["train"]})";
  request.distribution_specification = {{"distribution_type", workers > 1 ? "PyTorch" : "Job"}, {"number_of_workers", workers}};
  request.job_options = options;
  auto plan = plan::make_plan(request, job_types::traits());
  if (!plan) FAIL(plan.error().message);
  return *plan;
}

// Options with which all pods mount these claims.
Json mounted(const std::vector<std::string>& claims) {
  Json options;
  for (const auto& claim : claims) options["volumes"].push_back({{"mount_path", "/" + claim}, {"claim", claim}});
  return options;
}

Json claim(const std::vector<std::string>& asked, const std::vector<std::string>& bound = {}) {
  Json result = {{"spec", {{"accessModes", asked}}}};
  if (!bound.empty()) result["status"]["accessModes"] = bound;
  return result;
}

Facts facts(const std::string& claim) {
  Facts facts;
  facts.node = "node-1";
  facts.mounts = {{claim, "/data", "", false}};
  return facts;
}

}  // namespace

TEST_CASE("the volume of a claim determines how many nodes can mount it, without a volume its request does") {
  CHECK(access_of(claim({"ReadWriteOnce"}), false) == one_node);
  CHECK(access_of(claim({"ReadWriteMany"}), false) == many_nodes);
  CHECK(access_of(claim({"ReadWriteOncePod"}), true) == one_pod);
  CHECK(access_of(claim({"ReadWriteOnce"}, {"ReadWriteOnce", "ReadWriteMany"}), false) == many_nodes);
  CHECK(access_of(claim({"ReadWriteMany"}, {"ReadWriteOnce"}), false) == one_node);
  CHECK(access_of(claim({"ReadOnlyMany"}), false) == many_nodes);
  CHECK(access_of(claim({"ReadWriteOnce", "ReadOnlyMany"}), false) == one_node);
  CHECK(access_of(claim({"ReadWriteOnce", "ReadOnlyMany"}), true) == many_nodes);
  for (const auto* odd :
       {"null", "[]", "3", R"({"spec": 3})", R"({"spec": {"accessModes": "ReadWriteOnce"}})", R"({"status": {"accessModes": [null]}})"})
    CHECK(access_of(Json::parse(odd), false) == many_nodes);
}

TEST_CASE("a claim that the pods cannot mount, or not with the requested mode, is reported") {
  const auto with_phase = [](const char* phase) { return Json{{"status", {{"phase", phase}, {"accessModes", {"ReadWriteMany"}}}}}; };
  const auto read_only = claim({"ReadOnlyMany"}, {"ReadOnlyMany"});
  CHECK(obstacle(with_phase("Lost"), {"sets", true}) == "claim sets is Lost: its volume is gone, and pods that mount it do not start");
  CHECK(obstacle(with_phase("Bound"), {"sets", false}).empty());
  CHECK(obstacle(read_only, {"sets", false}) == "claim sets is ReadOnlyMany, but its mount is not read-only");
  CHECK(obstacle(read_only, {"sets", true}).empty());
  CHECK(obstacle(claim({"ReadOnlyMany"}, {"ReadOnlyMany", "ReadWriteOnce"}), {"sets", false}).empty());
  for (const auto* odd : {"null", "[]", "3", R"({"status": 3})", R"({"status": {"phase": ["Lost"], "accessModes": "ReadOnlyMany"}})"})
    CHECK(obstacle(Json::parse(odd), {"sets", false}).empty());
}

TEST_CASE("all claims of the pods are checked, each once, and count as written if one pod writes") {
  auto plan = plan_of(2, Json::parse(R"({"volumes": [{"mount_path": "/a", "claim": "sets", "read_only": true},
      {"mount_path": "/b", "volume": {"persistentVolumeClaim": {"claimName": "own", "readOnly": true}}}, {"mount_path": "/c", "empty_dir": {}}],
      "replicas": {"Worker": {"volumes": [{"mount_path": "/d", "claim": "logs"}]}}})"));
  plan.data.claims = {{"sets", "/x", "", false}, {"sets", "/y", "", true}};
  plan.pvc_name = "mine";
  std::string found;
  for (const auto& each : mounted_claims(plan)) found += each.name + (each.read_only ? "(ro) " : " ");
  CHECK(found == "sets mine own(ro) logs ");
  plan.options.single_node = false;
  CHECK(mounted_claims(plan).empty());
}

TEST_CASE("only pods that mount a claim are considered for it") {
  auto plan = plan_of(3, Json::parse(R"({"replicas": {"Master": {"volumes": [{"mount_path": "/a", "claim": "board"}]},
      "Worker": {"volumes": [{"mount_path": "/a", "claim": "logs"}, {"mount_path": "/b", "claim": "logs"}]},
      "PS": {"volumes": [{"mount_path": "/a", "claim": "none"}]}}})"));
  plan.pvc_name = "mine";
  std::string found;
  for (const auto& each : mounted_claims(plan)) found += each.name + " " + std::to_string(each.pods) + (each.made ? " made, " : ", ");
  CHECK(found == "mine 3 made, board 1, logs 2, ");
  const auto alone = nodes_for(plan, {}, {{"board", GENERATE(one_node, one_pod)}});
  REQUIRE(alone);
  CHECK(describe(*alone).empty());
}

TEST_CASE("pods run on the node where the step has the claim, or all on one") {
  const auto pods = plan_of(2, mounted({"data", "other"}));
  const auto ours = nodes_for(pods, facts("data"), {{"data", one_node}, {"other", GENERATE(one_node, many_nodes)}});
  REQUIRE(ours);
  CHECK(ours->node == "node-1");
  CHECK_THAT(describe(*ours), Contains("claim data (ReadWriteOnce): all pods are scheduled on node node-1, where this step uses it"));
  const auto other = nodes_for(pods, facts("data"), {{"other", one_node}});
  REQUIRE(other);
  CHECK(other->node.empty());
  CHECK(other->together);
  CHECK_THAT(describe(*other), Contains("claim other (ReadWriteOnce): all pods are scheduled on one node"));
  auto unknown = facts("data");
  unknown.node.clear();
  const auto somewhere = nodes_for(pods, unknown, {{"data", one_node}});
  REQUIRE(somewhere);
  CHECK(somewhere->together);
}

TEST_CASE("pods co-located by job_options.affinity stay so, except for the node of the step's own claim") {
  auto options = mounted({"data", "other"});
  const auto affinity = Json::parse(R"({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}})");
  if (GENERATE(true, false))
    options["affinity"] = affinity;
  else
    options["replicas"]["Worker"]["affinity"] = affinity;
  const auto pods = plan_of(2, options);
  const auto other = nodes_for(pods, facts("data"), {{"other", one_node}});
  REQUIRE(other);
  CHECK(other->node.empty());
  CHECK_FALSE(other->together);
  CHECK_THAT(describe(*other), Contains("claim other (ReadWriteOnce): the pods are not placed on one node, because job_options.affinity"));
  const auto many = nodes_for(pods, facts("data"), {{"other", many_nodes}});
  REQUIRE(many);
  CHECK(describe(*many).empty());
  auto on_one_node = pods;  // job_options.single_node: true
  on_one_node.nodes = {"", true, "job_options.single_node"};
  const auto asked = nodes_for(on_one_node, facts("data"), {{"other", one_node}});
  REQUIRE(asked);
  CHECK_THAT(describe(*asked), Contains("claim other (ReadWriteOnce): the pods are not placed on one node"));
  const auto ours = nodes_for(pods, facts("data"), {{"data", one_node}});
  REQUIRE(ours);
  CHECK(ours->node == "node-1");
  CHECK_THAT(describe(*ours), Contains("all pods are scheduled on node node-1"));
}

TEST_CASE("one pod goes where it may, but for the step's own claim") {
  const auto one = plan_of(1, mounted({"data", "other", "third"}));
  const auto free = nodes_for(one, facts("data"), {{"other", one_node}, {"third", one_pod}});
  REQUIRE(free);
  CHECK(describe(*free).empty());
  const auto bound = nodes_for(one, facts("data"), {{"data", one_node}, {"other", many_nodes}});
  REQUIRE(bound);
  CHECK(bound->node == "node-1");
}

TEST_CASE("a claim that one pod can have is refused where there are more") {
  const auto refused = [](int workers, const char* claim) {
    const auto nodes = nodes_for(plan_of(workers, mounted({"data", "other"})), facts("data"), {{claim, one_pod}});
    REQUIRE_FALSE(nodes);
    CHECK(nodes.error().kind == ErrorKind::input);
    return nodes.error().message;
  };
  CHECK_THAT(refused(1, "data"), Contains("claim data is ReadWriteOncePod, and this step's own pod uses it; use a ReadWriteMany claim"));
  CHECK_THAT(refused(2, "other"), Contains("claim other is ReadWriteOncePod, and 2 pods mount it"));
}

TEST_CASE("a claim that is not there has the mode that it is made with, if it is made for the job") {
  const bool made = GENERATE(true, false);
  auto plan = made ? plan_of(2) : plan_of(2, mounted({"data"}));
  if (made) plan.pvc_name = "data";
  kube::test::Harness h;
  h.server.serve([](const auto&) { return kube::test::refusal(404, "NotFound", "persistentvolumeclaims \"data\" not found"); });
  std::optional<std::map<std::string, ClaimAccess>> found;
  ClaimModesReader look({*h.client, "ns", "ReadWriteOnce", [](const std::string&) {}}, mounted_claims(plan),
                        [&](const auto& access) { found = *access; });
  h.loop.run(Duration{1'000});
  REQUIRE(found);
  CHECK(*found == std::map<std::string, ClaimAccess>{{"data", made ? one_node : absent}});
  const auto nodes = nodes_for(plan, Facts(), *found);
  REQUIRE(nodes);
  CHECK(nodes->absent == (made ? "" : "data"));
}

TEST_CASE("a gateway's response does not concern a claim: it is read again, and a failure is reported") {
  const bool passes = GENERATE(true, false), made = GENERATE(true, false);
  auto there = claim({"ReadWriteOnce"});
  there["metadata"]["name"] = "data";
  auto plan = made ? plan_of(2) : plan_of(2, mounted({"data"}));
  if (made) plan.pvc_name = "data";
  kube::test::Harness h;
  int asked = 0;
  h.server.serve([&](const auto&) {
    if (++asked > 3 && passes) return kube::test::Reply::text(to_text(there));
    return asked % 2 == 0 ? kube::test::gateways_404() : kube::test::no_such_path();
  });
  std::optional<std::map<std::string, ClaimAccess>> found;
  std::vector<std::string> lines;
  ClaimModesReader look({*h.client, "ns", "ReadWriteOnce", [&](const std::string& line) { lines.push_back(line); }}, mounted_claims(plan),
                        [&](const auto& access) { found = *access; });
  h.loop.run(Duration{60'000});
  REQUIRE(found);
  CHECK(found->contains("data") == passes);
  CHECK(lines.size() == (passes ? 0U : 1U));
  if (!passes) CHECK_THAT(lines[0], Contains("cannot read claim data: if only one node can mount it, pods on other nodes wait"));
}

TEST_CASE("whatever refuses a claim at first, it is read again") {
  const int status = GENERATE(302, 307, 400, 403, 404, 407, 410, 451);
  CAPTURE(status);
  auto there = claim({"ReadWriteOnce"});
  there["metadata"]["name"] = "data";
  kube::test::Harness h;
  int asked = 0;
  h.server.serve([&](const auto&) {
    if (++asked > 2) return kube::test::Reply::text(to_text(there));
    if (status == 403) return kube::test::refusal(403, "Forbidden", "persistentvolumeclaims \"data\" is forbidden");
    return kube::test::Reply::text("<html>gateway</html>", status);
  });
  std::optional<std::map<std::string, ClaimAccess>> found;
  ClaimModesReader look({*h.client, "ns", "", [](const std::string& line) { FAIL(line); }}, mounted_claims(plan_of(2, mounted({"data"}))),
                        [&](const auto& access) { found = *access; });
  h.loop.run(Duration{60'000});
  REQUIRE(found);
  CHECK(*found == std::map<std::string, ClaimAccess>{{"data", one_node}});
}

TEST_CASE("a claim whose volume is gone is reported before the job is created") {
  Json gone = {{"metadata", {{"name", "data"}}}, {"spec", {{"accessModes", {"ReadWriteMany"}}}}, {"status", {{"phase", "Lost"}}}};
  kube::test::Harness h;
  h.server.serve([&](const auto&) { return kube::test::Reply::text(to_text(gone)); });
  std::vector<std::string> lines;
  bool done = false;
  ClaimModesReader look({*h.client, "ns", "", [&](const std::string& line) { lines.push_back(line); }}, mounted_claims(plan_of(2, mounted({"data"}))),
                        [&](const auto&) { done = true; });
  h.loop.run(Duration{1'000});
  CHECK(done);
  CHECK(lines == std::vector<std::string>{"claim data is Lost: its volume is gone, and pods that mount it do not start"});
}
