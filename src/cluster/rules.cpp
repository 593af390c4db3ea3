// SPDX-License-Identifier: Apache-2.0
#include "cluster/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "cluster/objects.h"
#include "kinds/render.h"

namespace trainstep::cluster {
namespace {

// Of the pods of a replica type: a Job has one template, the operators' resources one by type below spec.…ReplicaSpecs.
const Json* template_of(const Json& manifest, const std::string& type) {
  const auto* spec = at(&manifest, "spec");
  if (const auto* only = at(spec, "template")) return only;
  if (spec == nullptr || !spec->is_object()) return nullptr;
  for (const auto& [key, value] : spec->items())
    if (key.ends_with("ReplicaSpecs")) return at(at(&value, type), "template");
  return nullptr;
}

std::vector<std::string> container_names(const Json& manifest, const std::string& type) {
  std::vector<std::string> names;
  const auto* containers = at(at(template_of(manifest, type), "spec"), "containers");
  if (containers == nullptr || !containers->is_array()) return names;
  for (const auto& container : *containers) {
    const auto* name = at(&container, "name");
    names.push_back(name != nullptr && name->is_string() ? name->get<std::string>() : "");
  }
  return names;
}

// The containers in which the program runs, by type. A patch may add others before ours, or give ours another name.
class Containers {
 public:
  explicit Containers(const plan::Plan& plan) {
    const auto& kind = kinds::find(plan.kind);
    if (auto ours = kind.render(plan, kind.resources.front())) m_ours = ours->json();
    if (auto patched = kinds::render(plan)) m_patched = patched->json();
  }
  // Empty: not known; such a plan is refused when it is submitted.
  [[nodiscard]] std::string of(const std::string& type) const {
    const auto ours = container_names(m_ours, type);
    const auto patched = container_names(m_patched, type);
    if (patched.empty()) return "";
    const bool kept = !ours.empty() && std::ranges::find(patched, ours.front()) != patched.end();
    return kept ? ours.front() : patched.front();
  }

 private:
  Json m_ours, m_patched;
};

}  // namespace

follow::Rules rules_of(const plan::Plan& plan) {
  follow::Rules rules;
  const Containers containers(plan);
  for (const auto& replicas : kinds::find(plan.kind).replicas(plan)) {
    const auto container = containers.of(replicas.type);
    for (int index = 0; index < replicas.count; ++index)
      rules.members.push_back({.name = kinds::replica_name(plan, replicas.type, index),
                               .primary = replicas.primary && index == 0,
                               .awaited = index < replicas.awaited,
                               .serves = replicas.serves,
                               .container = container});
  }
  rules.policy = plan.options.run_policy;
  rules.limits = plan.options.limits;
  // The v1 operator looks at its deadline only when something else happens (operators.md §8, trap 1): we keep it, too.
  if (const auto& deadline = rules.policy.active_deadline; deadline && (!rules.limits.running || *deadline < *rules.limits.running))
    rules.limits.running = deadline;
  rules.logs = plan.options.logs.empty() ? std::vector<std::string>{"primary"} : plan.options.logs;
  return rules;
}

follow::JobRules job_rules_of(const plan::Plan& plan) {
  follow::JobRules rules;
  const auto& resources = kinds::find(plan.kind).resources;
  rules.job = fmt::format("{}/{}", resources.front().plural, plan.job_name);
  // Which of them is served here is not known yet: the backend says so when the job is found.
  const bool v1 = std::ranges::find(resources, "kubeflow.org/v1", &kinds::Resource::group_version) != resources.end();
  rules.restarts_are_ours = v1 && plan.options.run_policy.restart_policy != "Never";
  if (const auto& queued = plan.options.limits.queued; queued && *queued < rules.operator_absent) rules.operator_absent = *queued;
  if (plan.distribution.elastic) rules.needed = static_cast<std::size_t>(plan.distribution.elastic->min);
  rules.on_eviction = plan.options.on_eviction;
  rules.run = plan.run_id;
  rules.never_removed = plan.options.cleanup == "never";
  return rules;
}

}  // namespace trainstep::cluster
