// The permissions that a step lacks, as the Roles and RoleBindings that grant them: in its own cluster, and in that of its job. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cluster/permissions.h"
#include "data/json.h"
#include "kube/client.h"

namespace trainstep::cluster {

// Where a step acts, by one account.
struct Side {
  kube::Client& client;
  std::string name_space;
  std::string where;  // its cluster, for messages: "in-cluster", "https://gpu.example.com:6443"
};

class MissingRoles {
 public:
  void add(const Permission& permission) { m_permissions.push_back(permission); }
  // Who acts there (permissions.h, subject_of); null: unknown.
  void set_subject(bool of_step, Json subject) { (of_step ? m_subject_of_step : m_subject_of_job) = std::move(subject); }
  // The pods' service account lacks what it needs, or that cannot be known.
  void add_pods(std::string account) { m_pods = std::move(account); }
  [[nodiscard]] bool empty() const { return m_permissions.empty() && m_pods.empty(); }
  [[nodiscard]] bool lacks_needed() const;
  // One to read a Secret of the step's cluster.
  [[nodiscard]] bool lacks_secrets() const;
  // Those of one side. `only_needed`: without those that the step can do without.
  [[nodiscard]] std::vector<Permission> of(bool of_step, bool only_needed = false) const;
  // YAML documents, each with a comment that names its cluster and namespace. Empty: nothing is missing. The sides may be the same.
  [[nodiscard]] std::string yaml(const Side& step, const Side& job) const;

 private:
  std::vector<Permission> m_permissions;
  Json m_subject_of_step, m_subject_of_job;
  std::string m_pods;
};

}  // namespace trainstep::cluster
