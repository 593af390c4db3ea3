// The step's side: its lives, its deaths, and the end of the world.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <csignal>

#include "sim/oracle.h"
#include "sim/world.h"

namespace trainstep::sim {
namespace {

class WorldToken : public kube::TokenSource {
 public:
  WorldToken(const World& world, bool kept) : m_world(world), m_kept(kept) {}
  Result<std::string> token(Time /*now*/) override {
    if (!m_kept || m_last.empty()) m_last = m_world.token();
    return m_last;
  }
  void refused() override { m_last.clear(); }

 private:
  const World& m_world;
  bool m_kept;
  std::string m_last;
};

}  // namespace

// Argo makes a new pod for each attempt; its node's name tells which.
void World::make_pod() {
  const auto number = m_lives.size();
  Json metadata = {{"name", fmt::format("step-{}", number)}, {"namespace", "lab"}};
  if (m_workflow) {
    metadata["labels"] = {{"workflows.argoproj.io/workflow", "wf"}, {"pipeline/runid", "run-1"}};
    metadata["annotations"] = {{"workflows.argoproj.io/node-name", fmt::format("wf(0).train({})", number)}};
    auto owner = controller_reference(m_workflow);
    metadata["ownerReferences"] = Json::array({owner});
  } else {
    metadata["labels"] = {{"workflows.argoproj.io/workflow", "none"}};
  }
  // What Argo gives to each container: the template that the pod is made from.
  const Json environment = Json::array({{{"name", "ARGO_TEMPLATE"}, {"value", R"({"name": "train", "retryStrategy": {"retryPolicy": "Always"}})"}}});
  const auto pod =
      m_cluster.store.create(*m_cluster.store.resource("v1", "pods"),
                             {{"apiVersion", "v1"},
                              {"kind", "Pod"},
                              {"metadata", metadata},
                              {"spec", {{"nodeName", "node-9"}, {"containers", {{{"name", "main"}, {"image", "step"}, {"env", environment}}}}}},
                              {"status", {{"phase", "Running"}}}});
  m_pod = {std::string(pod->name()), std::string(pod->uid())};
}

void World::begin_life(const Factory& factory) {
  m_lives.push_back({.number = static_cast<int>(m_lives.size()), .lines = {}, .verdict = {}});
  m_story.tell("step", "life {} begins", m_lives.size() - 1);
  make_pod();
  m_network.revive();
  m_lives.back().network_life = m_network.life();
  if (m_scenario.kill_at != 0)
    m_network.on_call(
        [this](int number, const http::Request&) {
          if (number != m_scenario.kill_at) return Network::Hook::go;
          return m_scenario.kill_after ? Network::Hook::die_after_effect : Network::Hook::die_before_send;
        },
        [this] { die(); });
  m_step_loop = std::make_unique<StepLoop>(m_loop, m_scenario.skew);
  auto credentials = std::make_shared<kube::Credentials>();
  credentials->server.scheme = "https";
  credentials->server.host = "kubernetes.default.svc";
  credentials->endpoint = std::make_shared<http::Endpoint>();
  credentials->token = std::make_unique<WorldToken>(*this, m_scenario.token_kept);
  credentials->name_space = "lab";
  credentials->description = "in-cluster";
  // What a dead step says is not heard: after its death its functions may still run to their end.
  const auto alive = [this, life = m_lives.size() - 1] { return !m_dying && !m_exited && life == m_lives.size() - 1; };
  const Surroundings surroundings{
      .scenario = m_scenario,
      .loop = *m_step_loop,
      .transport = m_network,
      .credentials = std::move(credentials),
      .name_space = "lab",
      .pod = m_workflow ? m_pod.name : "",
      .attempt = fmt::format("attempt-{}", m_lives.size()),
      .seed = m_random.next(),
      .say =
          [this, alive](std::string_view text) {
            if (alive()) m_story.tell("says", "{}", text);
          },
      .output =
          [this, alive](std::string_view member, std::string_view lines) {
            if (!alive()) return;
            for (std::size_t at = 0; at < lines.size();) {
              const auto end = std::min(lines.find('\n', at), lines.size() - 1) + 1;
              m_story.tell("prints", "[{}] {}", member, lines.substr(at, end - at - 1));
              m_lives.back().lines.push_back({std::string(member), std::string(lines.substr(at, end - at))});
              at = end;
            }
          },
      .exit =
          [this, alive](const result::Verdict& verdict) {
            if (!alive()) return;
            m_story.tell("step", "ends: {}", result::describe(verdict));
            m_lives.back().verdict = verdict;
            m_exited = true;
          },
  };
  m_step = factory(surroundings);
  m_step->begin();
}

void World::die() {
  if (m_exited || m_dying || m_step_loop == nullptr) return;
  m_dying = true;
  m_step_loop->die();
  m_network.kill();
}

// Whether another life follows is the pipeline's decision.
void World::bury() {
  m_story.tell("step", "{}", m_dying ? "is dead" : "has ended");
  m_network.kill();
  m_ended = m_loop.now();
  m_step.reset();
  m_step_loop.reset();
  for (const auto& pod : m_cluster.training_pods()) m_pods_at_end.emplace(pod->uid());
  const auto& verdict = m_lives.back().verdict;
  const bool lost = !verdict || verdict->verdict_class == result::VerdictClass::interrupted ||
                    (m_scenario.step_fate == StepFate::evicted && verdict->verdict_class == result::VerdictClass::cancelled);
  m_another = lost && m_scenario.step_fate != StepFate::cancelled;
  m_dying = false;
  m_exited = false;
  if (const auto pod = m_cluster.store.by_uid(m_pod.uid)) m_cluster.store.remove(pod);
  if (m_another) m_pods_at_end.clear();
}

void World::send_signal() {
  if (m_step == nullptr || m_dying || m_exited) return;
  m_story.tell("pipeline", "SIGTERM");
  m_lives.back().signalled = true;
  m_step->signal(SIGTERM);
}

// kfp.md §10: the Workflow and the pod's label change about a second before the first signal; under KFP v2 the program is killed soon after it, under
// Argo never.
void World::cancel_run() {
  if (m_step == nullptr || m_exited || m_dying) return;
  m_story.tell("pipeline", "the run is terminated");
  m_acted = true;
  const auto completed = [](Json& changed) { changed["metadata"]["labels"]["workflows.argoproj.io/completed"] = "true"; };
  m_cluster.store.update(m_workflow->uid(), [&](Json& changed) {
    changed["spec"]["shutdown"] = "Terminate";
    completed(changed);
  });
  m_cluster.store.update(m_pod.uid, completed);
  const auto first = m_random.between(Duration{800}, Duration{1'500});
  m_loop.after(first, [this] { send_signal(); });
  if (m_scenario.death < Duration{1'000})
    m_loop.after(first + m_scenario.death, [this] { die(); });
  else
    m_loop.after(first + Duration{1'000}, [this] { send_signal(); });
}

void World::evict_step() {
  if (m_step == nullptr || m_exited || m_dying) return;
  m_story.tell("pipeline", "the step's pod is evicted");
  m_acted = true;
  m_cluster.collector.remove(m_cluster.store.by_uid(m_pod.uid), Propagation::background);
  m_loop.after(Duration{200}, [this] { send_signal(); });
  m_loop.after(Duration{200} + m_scenario.death, [this, life = m_lives.size()] {
    if (life == m_lives.size()) die();
  });
}

std::vector<std::string> World::run(const Factory& factory) {
  const auto last = m_loop.now() + m_options.longest;
  begin_life(factory);
  for (int tasks = 0;; ++tasks) {
    if (m_dying || m_exited) {
      bury();
      if (!m_another) break;
      m_loop.run_for(m_random.between(Duration{500}, Duration{30'000}));
      begin_life(factory);
    } else if (tasks > m_options.most_tasks || !m_loop.step(last)) {
      m_violations.push_back(fmt::format("the step does not end: {} after {} tasks", trainstep::describe(m_loop.now() - m_began), tasks));
      die();
      bury();
      break;
    }
  }
  const Oracle oracle(*this);
  oracle.check_verdict(m_violations);
  oracle.check_lines(m_violations);
  settle();
  return m_violations;
}

// The pipeline's end, too: with the Workflow everything that belongs to it must go.
void World::settle() {
  const Oracle oracle(*this);
  m_loop.run_for(std::chrono::minutes(30));
  oracle.check_leaks(m_violations);
  m_world_deletes = true;
  if (m_workflow != nullptr)
    if (const auto live = m_cluster.store.by_uid(m_workflow->uid())) m_cluster.collector.remove(live, Propagation::background);
  m_loop.run_for(std::chrono::minutes(20));
  oracle.check_empty(m_violations);
}

bool World::api_server_away(Time at, Duration at_least) const {
  for (const auto& outage : m_network.faults().outages)
    if (outage.to - outage.from >= at_least && at >= outage.from && at < outage.to + Duration{60'000}) return true;
  return false;
}

}  // namespace trainstep::sim
