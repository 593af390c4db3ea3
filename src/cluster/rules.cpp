// SPDX-License-Identifier: Apache-2.0
#include "cluster/rules.h"

#include <fmt/format.h>

#include "base/text.h"

namespace trainstep::cluster {

follow::Rules rules_of(const plan::Plan& plan) {
  follow::Rules rules;
  for (const auto& replicas : kinds::find(plan.kind).replicas(plan)) {
    for (int index = 0; index < replicas.count; ++index)
      rules.members.push_back({.name = kinds::replica_name(plan, replicas.type, index),
                               .primary = replicas.primary && index == 0,
                               .awaited = index < replicas.awaited,
                               .serves = replicas.serves});
  }
  rules.policy = plan.options.run_policy;
  rules.limits = plan.options.limits;
  // The v1 operator looks at its deadline only when something else happens (operators.md §8, trap 1): we keep it, too.
  if (rules.policy.active_deadline && !rules.limits.running) rules.limits.running = rules.policy.active_deadline;
  rules.logs = plan.options.logs.empty() ? std::vector<std::string>{"primary"} : plan.options.logs;
  return rules;
}

follow::JobRules job_rules_of(const plan::Plan& plan) {
  follow::JobRules rules;
  const auto& resource = kinds::find(plan.kind).resources.front();
  rules.job = fmt::format("{}/{}", resource.plural, plan.job_name);
  rules.restarts_are_ours = resource.group_version == "kubeflow.org/v1" && plan.options.run_policy.restart_policy != "Never";
  if (const auto& queued = plan.options.limits.queued; queued && *queued < rules.operator_absent) rules.operator_absent = *queued;
  rules.on_eviction = plan.options.on_eviction;
  return rules;
}

}  // namespace trainstep::cluster
