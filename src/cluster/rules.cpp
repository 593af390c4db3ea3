// SPDX-License-Identifier: Apache-2.0
#include "cluster/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "job_types/render.h"
#include "job_types/templates.h"

namespace trainstep::cluster {
namespace {

// To find the containers: the job as it is, or as it will be created.
Json object_of(const plan::Plan& plan) {
  const auto manifest = job_types::render(plan);
  return manifest ? manifest->json() : Json();  // such a plan is refused on submission
}

}  // namespace

follow::Rules rules_of(const plan::Plan& plan) { return rules_of(plan, object_of(plan)); }

follow::Rules rules_of(const plan::Plan& plan, const Json& job) {
  follow::Rules rules;
  const auto& job_type = job_types::find(plan.job_type);
  for (const auto& replicas : job_type.replicas(plan)) {
    const auto container = job_types::program_container(job_type, job, replicas.type);
    for (int index = 0; index < replicas.count; ++index)
      rules.members.push_back({.name = job_types::replica_name(replicas, index),
                               .primary = replicas.primary && index == 0,
                               .awaited = index < replicas.awaited,
                               .serves = replicas.serves,
                               .container = container});
  }
  follow::take_options(rules, plan.options);
  rules.logs = plan.options.logs.empty() ? std::vector<std::string>{"primary"} : plan.options.logs;
  return rules;
}

follow::JobRules job_rules_of(const plan::Plan& plan) {
  follow::JobRules rules;
  const auto& resources = job_types::find(plan.job_type).resources;
  rules.job = fmt::format("{}/{}", resources.front().plural, plan.job_name);
  // Which of them is served here is not known yet: the backend reports it when the job is found.
  const bool kept_by_all = std::ranges::all_of(resources, &job_types::Resource::keeps_backoff_limit);
  rules.restarts_are_ours = !kept_by_all && plan.options.run_policy.restart_policy != "Never";
  if (const auto& queued = plan.options.limits.queued; queued && *queued < rules.operator_absent) rules.operator_absent = *queued;
  if (plan.distribution.elastic) rules.needed = static_cast<std::size_t>(plan.distribution.elastic->min);
  rules.on_eviction = plan.options.on_eviction;
  rules.run = plan.run_id;
  rules.never_removed = plan.options.cleanup == "never";
  return rules;
}

}  // namespace trainstep::cluster
