// SPDX-License-Identifier: Apache-2.0
#include "cluster/missing_roles.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/yaml.h"

namespace trainstep::cluster {
namespace {

std::string grant(const std::vector<Permission>& permissions, const Json& subject, const Side& side) {
  if (permissions.empty()) return {};
  const auto* rest = subject.is_null() ? "; bind this Role to the account that is used there" : "";
  auto text = fmt::format("---\n# Missing permissions in namespace {} ({}){}:\n{}", side.name_space, side.where, rest,
                          to_yaml(role(permissions, side.name_space)));
  if (!subject.is_null()) text += "---\n" + to_yaml(role_binding(subject, side.name_space));
  return text;
}

std::string grant_pods(const std::string& account, const Side& side) {
  if (account.empty()) return {};
  const Json subject = {{"kind", "ServiceAccount"}, {"namespace", side.name_space}, {"name", account}};
  return fmt::format("---\n# For the pods of the job in namespace {} ({}):\n{}---\n{}", side.name_space, side.where,
                     to_yaml(role({permission_of_pods()}, side.name_space, pods_role)), to_yaml(role_binding(subject, side.name_space, pods_role)));
}

}  // namespace

bool MissingRoles::lacks_needed() const { return std::ranges::any_of(m_permissions, &Permission::needed); }

bool MissingRoles::lacks_secrets() const {
  return std::ranges::any_of(m_permissions, [](const Permission& permission) { return permission.of_step && permission.resource == "secrets"; });
}

std::vector<Permission> MissingRoles::of(bool of_step, bool only_needed) const {
  std::vector<Permission> permissions;
  for (const auto& permission : m_permissions)
    if (permission.of_step == of_step && (permission.needed || !only_needed)) permissions.push_back(permission);
  return permissions;
}

std::string MissingRoles::yaml(const Side& step, const Side& job) const {
  const auto pods = grant_pods(m_pods, job);
  if (&step.client == &job.client) return grant(m_permissions, m_subject_of_job.is_null() ? m_subject_of_step : m_subject_of_job, job) + pods;
  return grant(of(true), m_subject_of_step, step) + grant(of(false), m_subject_of_job, job) + pods;
}

}  // namespace trainstep::cluster
