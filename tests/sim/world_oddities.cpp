// What is odd about the cluster.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/world.h"

namespace trainstep::sim {
namespace {

constexpr Duration brief_for = std::chrono::minutes(20);
constexpr int max_in_a_row = 2;  // refusals of one pod's log

}  // namespace

void World::set_up_oddities() {
  const auto& odd = m_scenario.odd;
  auto& server = m_cluster.server.options();
  if (odd.behind > 0) {
    server.lag = [this, &odd](const Resource& resource, bool one) {
      const bool lags = is_job(resource) || resource.plural == "pods" || resource.plural == "events";
      return lags && m_odds.chance(odd.behind) ? m_odds.between(Duration{0}, one ? odd.get_lag : odd.list_lag) : Duration{0};
    };
    m_network.delay_watches(odd.behind, odd.watch_lag);
  }
  if (odd.brief > 0)
    server.brief = [this, &odd]() -> std::optional<Brief> {
      if (m_loop.now() > m_began + brief_for || !m_odds.chance(odd.brief)) return std::nullopt;
      using enum Brief::End;
      return Brief{static_cast<int>(m_odds.between(0, 3)), m_odds.pick({closed, closed, gone, bookmarks, torn})};
    };
  if (odd.no_log > 0) server.log_trouble = [this](const Resource& pods, std::string_view pod) { return log_trouble(pods, pod); };
  m_cluster.kubelet.set_clocks(odd.node_clocks);
  m_cluster.set_controllers_clock(odd.controllers_clock);
  if (!odd.strange_status) return;
  // Whose failure ends the job is asked for its exit code, where the status does not tell.
  const bool both = odd.contradicts && m_scenario.victim == m_scenario.primary;
  m_cluster.store.show_as([this, both](Version& version) {
    if (!is_job(*version.resource) || is_stranger(version)) return;
    version.shown = version.object;
    make_strange(version.shown, Random(m_scenario.seed + version.number), both);
  });
}

std::optional<Reply> World::log_trouble(const Resource& pods, std::string_view pod) {
  auto& row = m_logs_refused[std::string(pod)];
  if (row >= max_in_a_row || !m_odds.chance(m_scenario.odd.no_log)) {
    row = 0;
    return std::nullopt;
  }
  ++row;
  switch (m_odds.between(0, 3)) {
    case 0:
      return not_found(pods, pod);
    case 1:
      return no_such_resource();  // as the kubelet's 404 is told
    case 2:
      return failure(500, "InternalError", "Get \"https://10.0.0.3:10250/containerLogs/lab/train/train\": EOF");
    default:
      return unavailable();
  }
}

// A finalizer holds what is deleted.
void World::hold(const std::string& uid) {
  if (!m_scenario.odd.held || m_scenario.odd.held_for_ever()) return;
  m_loop.after(*m_scenario.odd.held, [this, uid] {
    m_cluster.store.update(uid, [](Json& changed) {
      auto& finalizers = changed["metadata"]["finalizers"];
      finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), holding_finalizer), finalizers.end());
      if (finalizers.empty()) changed["metadata"].erase("finalizers");
    });
  });
}

}  // namespace trainstep::sim
