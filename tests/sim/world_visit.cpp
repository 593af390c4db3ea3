// A user who attaches to the run.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "sim/world.h"

namespace trainstep::sim {
namespace {

constexpr auto visitors_token = "visitor";

class FixedToken : public kube::TokenSource {
 public:
  Result<std::string> token(Time /*now*/) override { return std::string(visitors_token); }
  void refused() override {}
};

// It shares the server with the step, and whatever goes wrong with it, but no connection.
Faults faults_of(const Scenario& scenario, const Network& network, Time now) {
  auto faults = scenario.faults;
  faults.outages.clear();
  for (const auto& outage : network.faults().outages)
    if (outage.to > now) faults.outages.push_back(outage);
  return faults;
}

}  // namespace

void World::begin_visit() {
  m_trace.log("visitor", "comes");
  auto& server = m_cluster.server;
  server.tokens().insert(visitors_token);
  for (const auto& what : m_scenario.visit->denied) server.deny(visitors_token, what);
  auto& visitor = *(m_visitor = std::make_unique<Visitor>());
  visitor.job = m_jobs.back().uid;
  visitor.came = m_loop.now();
  visitor.network = std::make_unique<Network>(m_loop, server, m_trace, m_random.split(), faults_of(m_scenario, m_network, m_loop.now()));
  visitor.loop = std::make_unique<StepLoop>(m_loop, m_scenario.skew);
  const Context surroundings{
      .scenario = m_scenario,
      .loop = *visitor.loop,
      .transport = *visitor.network,
      .credentials = credentials(std::make_unique<FixedToken>()),
      .name_space = "lab",
      .pod = "",
      .node_id = "",
      .attempt = "visitor",
      .seed = 77,
      .info = [this](std::string_view text) { m_trace.log("visitor", "{}", text); },
      .output =
          [this, &visitor](std::string_view member, std::string_view lines) {
            m_trace.log("visitor", "[{}] {}", member, lines);
            visitor.life.lines.push_back({std::string(member), std::string(lines)});
          },
      .exit =
          [this, &visitor](const result::Verdict& verdict) {
            m_trace.log("visitor", "ends: {}", result::describe(verdict));
            visitor.life.verdict = verdict;
            m_loop.post([this] { end_visit(); });
          },
  };
  visitor.step = m_visit(surroundings);
  visitor.step->begin();
  m_loop.after(m_scenario.visit->looks_for, [this] { end_visit(); });
}

// Ctrl-C, or its own end.
void World::end_visit() {
  if (!m_visitor || !m_visitor->step) return;
  m_visitor->life.signalled = !m_visitor->life.verdict;
  m_visitor->step.reset();
  m_visitor->loop.reset();
  m_visitor->network->kill();
}

}  // namespace trainstep::sim
