// The agents in the pods of a job without an owner: each looks at the Lease, and ends its pod when that has run out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/lease_watch.h"
#include "plan/task.h"
#include "sim/cluster.h"
#include "sim/network.h"

namespace trainstep::sim {

class LeaseAgents {
 public:
  // `inside`: between the pods and their API server. References must outlive it.
  LeaseAgents(SimLoop& loop, Cluster& cluster, Network& inside, std::shared_ptr<kube::Credentials> credentials, Random random);
  LeaseAgents(const LeaseAgents&) = delete;
  LeaseAgents& operator=(const LeaseAgents&) = delete;

 private:
  void pod_heard(const Happening& happening);

  SimLoop& m_loop;
  Cluster& m_cluster;
  Network& m_inside;
  std::shared_ptr<kube::Credentials> m_credentials;
  Random m_random;
  std::map<std::string, std::unique_ptr<agent::LeaseWatch>> m_agents;  // by the pod's uid
};

}  // namespace trainstep::sim
