// A job without an owner, and a step that vanishes: the real step, the agent's real watch of its Lease, and a network between them that is cut.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "kube/token_source.h"
#include "sim/lease_agents.h"
#include "sim/real_step.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::sim;
using namespace std::chrono_literals;

namespace {

// The step is elsewhere: in no pod of this cluster, and in no Workflow.
struct Elsewhere {
  explicit Elsewhere(const std::string& kind, Duration training, std::uint64_t seed = 1) : random(seed) {
    scenario.kind = kind;
    scenario.distribution = {{"distribution_type", kind}};
    if (kind != "Job") scenario.distribution["number_of_workers"] = 2;
    scenario.options = {{"lease", "30m"}, {"agent_image", "trainstep:1"}};
    cluster = std::make_unique<Cluster>(loop, random.split(), Installed{}, [training](const PodIdentity&) {
      PodScript script;
      script.runs_for = training;
      return script;
    });
    cluster->server.tokens().insert("t");
    link = std::make_unique<Network>(loop, cluster->server, trace, random.split(), Faults{});
    inside = std::make_unique<Network>(loop, cluster->server, trace, random.split(), Faults{});
    agents = std::make_unique<LeaseAgents>(loop, *cluster, *inside, credentials(), random.split());
  }
  ~Elsewhere() { vanish(); }

  [[nodiscard]] static std::shared_ptr<kube::Credentials> credentials() {
    auto result = std::make_shared<kube::Credentials>();
    result->server = {"https", "kubernetes.default.svc", 443, "", {}};
    result->endpoint = std::make_shared<http::Endpoint>();
    result->token = kube::fixed_token("t");
    result->name_space = "lab";
    return result;
  }
  void begin() {
    link->revive();
    own = std::make_unique<StepLoop>(loop, 0ms);
    step = real_step({.scenario = scenario,
                      .loop = *own,
                      .transport = *link,
                      .credentials = credentials(),
                      .name_space = "lab",
                      .pod = "",
                      .node_id = "",
                      .attempt = "",
                      .seed = random.next(),
                      .info = [this](std::string_view text) { said += std::string(text) + "\n"; },
                      .output = [](std::string_view, std::string_view) {},
                      .exit = [this](const result::Verdict& ended) { verdict = ended; }});
    step->begin();
  }
  // SIGKILL.
  void vanish() {
    if (own) own->die();
    link->kill();
    step.reset();
    own.reset();
  }
  [[nodiscard]] std::size_t running() const {
    const auto pods = cluster->training_pods();
    return static_cast<std::size_t>(
        std::ranges::count_if(pods, [](const auto& pod) { return phase_of(*pod) == "Running" || phase_of(*pod) == "Pending"; }));
  }
  [[nodiscard]] std::size_t count(const std::string& group_version, const std::string& plural) const {
    return cluster->store.list(*cluster->store.resource(group_version, plural), "lab").size();
  }
  void cut(Duration length) { link->add_outage({loop.now(), loop.now() + length, Outage::Sort::silent}); }

  SimLoop loop;
  Random random;
  Scenario scenario;
  Trace trace{loop, false};
  std::unique_ptr<Cluster> cluster;
  std::unique_ptr<Network> link, inside;  // between the step and the cluster; within the cluster
  std::unique_ptr<StepLoop> own;
  std::unique_ptr<Step> step;
  std::unique_ptr<LeaseAgents> agents;
  std::optional<result::Verdict> verdict;
  std::string said;
};

}  // namespace

TEST_CASE("sim lease: a step that vanishes for ever leaves no pod running once its Lease has run out") {
  const std::string kind = GENERATE("Job", "PyTorch", "TF");
  for (int second = 1; second < 20; ++second) {
    Elsewhere world(kind, 200h, static_cast<std::uint64_t>(second));
    world.begin();
    world.loop.run_for(second * 500ms);
    world.vanish();
    world.loop.run_for(25min);
    const bool made = world.running() > 0;
    world.loop.run_for(20min);
    INFO(kind << " after " << second);
    CHECK(world.running() == 0);
    if (second > 10) CHECK(made);
    CHECK(world.count("coordination.k8s.io/v1", "leases") <= 1);
  }
}

TEST_CASE("sim lease: a step that is started again within the Lease finds its job running, and the model is not lost") {
  const std::string kind = GENERATE("Job", "PyTorch", "TF");
  Elsewhere world(kind, 3h);
  world.begin();
  world.loop.run_for(10min);
  for (int i = 0; i < 4; ++i) {
    world.vanish();
    world.loop.run_for(20min);
    CHECK(world.running() > 0);
    world.begin();
    world.loop.run_for(5min);
  }
  CHECK(world.said.find("adopted") != std::string::npos);
  world.loop.run_for(3h);
  INFO(world.said);
  REQUIRE(world.verdict);
  CHECK(world.verdict->verdict_class == result::VerdictClass::succeeded);
  CHECK(world.count("coordination.k8s.io/v1", "leases") == 0);
}

TEST_CASE("sim lease: a network that is cut for less than the Lease ends nothing, one that is cut for longer ends the training, with the reason") {
  const bool longer = GENERATE(false, true);
  Elsewhere world("PyTorch", 3h);
  world.begin();
  world.loop.run_for(10min);
  world.cut(longer ? 60min : 22min);
  world.loop.run_for(4h);
  INFO(world.said);
  REQUIRE(world.verdict);
  CHECK(world.verdict->verdict_class == (longer ? result::VerdictClass::capacity : result::VerdictClass::succeeded));
  if (longer) CHECK(world.said.find("no step follows this job") != std::string::npos);
}

TEST_CASE("sim lease: an API server that is away for a night ends no training") {
  Elsewhere world("Job", 15h);
  world.begin();
  world.loop.run_for(10min);
  for (auto* network : {world.link.get(), world.inside.get()}) network->add_outage({world.loop.now(), world.loop.now() + 10h, Outage::Sort::refused});
  world.loop.run_for(16h);
  INFO(world.said);
  REQUIRE(world.verdict);
  CHECK(world.verdict->verdict_class == result::VerdictClass::succeeded);
}

TEST_CASE("sim lease: a Lease costs one request in five minutes on either side") {
  Elsewhere world("Job", 10h);
  world.begin();
  world.loop.run_for(10min);
  const auto renewals = [&world] {
    return std::ranges::count_if(world.link->requests(), [](const auto& request) { return request.what.starts_with("PATCH "); });
  };
  const auto before = renewals();
  const auto reads = world.inside->requests().size();
  world.loop.run_for(60min);
  CHECK(renewals() - before <= 13);
  CHECK(world.inside->requests().size() - reads <= 13);
}
