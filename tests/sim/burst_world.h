// A step here whose job goes to one of two other clusters: the real step, two clusters with the agents of their pods, and a link to each that breaks.
// From a seed, on virtual time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/lease_agents.h"
#include "sim/world.h"

namespace trainstep::sim {

// Sends each exchange to the network of its host.
class HostRouter : public http::Transport {
 public:
  void add(std::string host, Network& network);
  Id start(http::Request request, Handler handler) override;
  void cancel(Id id) override;

 private:
  std::vector<std::pair<std::string, Network*>> m_networks;
};

class BurstWorld {
 public:
  BurstWorld(std::uint64_t seed, bool trace);
  ~BurstWorld();
  BurstWorld(const BurstWorld&) = delete;
  BurstWorld& operator=(const BurstWorld&) = delete;

  // Runs the step, as many lives as it has, then lets everything settle. Returns what was promised and not kept; empty: all is well. Call it once.
  std::vector<std::string> run();
  [[nodiscard]] std::string story() const { return m_trace.text(); }

 private:
  struct Site {
    Site(BurstWorld& world, std::string name);
    std::string name;  // of its Secret and its host
    Cluster cluster;
    Network link, inside;
    LeaseAgents agents;
    VersionPtr quota;  // that has no room; null: none
  };
  // How one life of the step ends, unless it ends by itself.
  enum class End { by_itself, killed, cancelled };

  void write_secret(const std::string& name);
  void write_own_pod(int life);
  void set_quota(Site& site, bool full);
  void plan_cuts();
  void job_heard(Site& site, const Happening& happening);
  void live(int life, End end, Duration after);
  void die();
  void check_left(const std::string& when, bool all);
  [[nodiscard]] std::size_t running(const Site& site) const;
  [[nodiscard]] std::size_t count(const Site& site, std::string_view group_version, std::string_view plural) const;
  [[nodiscard]] PodScript pod_script();

  SimLoop m_loop;
  Random m_random;
  Trace m_trace;
  Scenario m_scenario;
  Duration m_training{0};
  bool m_fails = false;   // the program does
  bool m_in_pod = false;  // of a Workflow; false: at a shell, with a run id
  VersionPtr m_workflow;  // null: at a shell
  std::unique_ptr<Cluster> m_home;
  std::unique_ptr<Network> m_home_link;
  std::array<std::unique_ptr<Site>, 2> m_sites;
  HostRouter m_router;
  std::unique_ptr<StepLoop> m_own;
  std::unique_ptr<Step> m_step;
  std::optional<result::Verdict> m_verdict;
  bool m_succeeded = false;             // a job has, as its controller says
  bool m_doubts = false;                // the step has said that something may be left
  std::map<std::string, Site*> m_jobs;  // that exist and are neither ended nor being deleted, by uid
  std::vector<std::string> m_violations;
};

}  // namespace trainstep::sim
