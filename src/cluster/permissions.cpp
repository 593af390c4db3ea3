// SPDX-License-Identifier: Apache-2.0
#include "cluster/permissions.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cluster/claim_nodes.h"
#include "cluster/data.h"
#include "cluster/objects.h"

namespace trainstep::cluster {

std::string group_of(std::string_view group_version) {
  const auto slash = group_version.find('/');
  return slash == std::string_view::npos ? "" : std::string(group_version.substr(0, slash));
}

std::vector<Permission> permissions_of(const job_types::Resource& resource, const Facts& facts) {
  std::vector<Permission> rights;
  for (const auto* verb : {"create", "delete", "get", "list", "patch", "watch"})
    rights.push_back({group_of(resource.group_version), std::string(resource.plural), verb});
  if (!facts.pod.empty()) rights.push_back({"", "pods", "get", true, "", "", true});
  for (const auto* verb : {"list", "watch"}) rights.push_back({"", "pods", verb});
  rights.push_back({"", "pods/log", "get"});
  for (const auto* verb : {"list", "watch"}) rights.push_back({"", "events", verb, false});
  // The launcher of mpi-operator is a Job: its uid distinguishes its events from those of an earlier one of that name.
  if (resource.has_launcher_job) rights.push_back({"batch", "jobs", "get", false});
  if (facts.workflow)
    for (const auto* verb : {"get", "list", "watch"})
      rights.push_back({group_of(facts.workflow->api_version), "workflows", verb, false, "", "", true});
  return rights;
}

std::vector<Permission> data_permissions_of(const plan::Plan& plan, const DataContext& context) {
  std::vector<Permission> rights;
  const auto& data = plan.data;
  if (context.has_addresses)
    rights.push_back({"", "configmaps", "get", false, std::string(launcher_config), "KFP's default object store settings are used", true});
  if (!context.configuration_secret.empty()) rights.push_back({"", "secrets", "get", true, context.configuration_secret, "", true});
  if (!context.keys_copy.empty()) rights.push_back({"", "secrets", "create"});
  if (!context.keys_copy.empty())
    rights.push_back({"", "secrets", "patch", false, "", "the keys of the job's pods to their bucket expire after two days"});
  const bool moves = !data.uploads.empty() || !data.downloads.empty();
  const bool cleans = data.prefix.in_store() || data.task.record.in_store();
  for (const auto& access : data.secrets) {
    const auto& secret = !context.keys_copy.empty() && access.secret == context.keys_copy ? context.keys_secret : access.secret;
    const auto same = [&](const Permission& right) { return right.resource == "secrets" && right.name == secret; };
    if (secret.empty() || !(moves || cleans) || std::ranges::any_of(rights, same)) continue;
    rights.push_back(
        {"", "secrets", "get", moves, secret, "the record of the training stays in the bucket, and large returned values are lost", true});
  }
  if (data.task.lease.wanted())
    for (const auto* verb : {"create", "patch"})
      rights.push_back({"coordination.k8s.io", "leases", verb, false, "", "if the step vanishes, nothing ends its job"});
  for (const auto& claim : mounted_claims(plan))
    if (claim.name != plan.pvc_name)
      rights.push_back({"", "persistentvolumeclaims", "get", false, claim.name, "if only one node can mount it, pods on other nodes wait"});
  if (plan.pvc_name.empty()) return rights;
  constexpr auto otherwise = "the claim must exist when the job starts";
  // Whether a claim may be read by its name, and created, for which no name can be given.
  rights.push_back({"", "persistentvolumeclaims", "get", context.claim_is_there == false, plan.pvc_name, otherwise});
  if (context.claim_is_there != true) rights.push_back({"", "persistentvolumeclaims", "create", context.claim_is_there == false, "", otherwise});
  if (context.claim_is_there != true || context.claim_is_of_jobs)
    rights.push_back(
        {"", "persistentvolumeclaims", "patch", false, plan.pvc_name, "a claim created for a job is deleted with the first of its jobs"});
  return rights;
}

std::string describe(const Permission& right) {
  return fmt::format("{} {}{}{}{}{}", right.verb, right.resource, right.group.empty() ? "" : ".", right.group, right.name.empty() ? "" : " ",
                     right.name);
}

std::string describe(const std::vector<Permission>& rights) {
  std::vector<std::pair<Permission, std::string>> groups;  // with the verbs so far
  for (const auto& right : rights) {
    const auto same = [&](const auto& group) {
      return group.first.group == right.group && group.first.resource == right.resource && group.first.name == right.name;
    };
    const auto group = std::ranges::find_if(groups, same);
    group == groups.end() ? void(groups.emplace_back(right, right.verb)) : void(group->second += ", " + right.verb);
  }
  std::string text;
  for (auto& [right, verbs] : groups) {
    right.verb = std::move(verbs);
    text += (text.empty() ? "" : "; ") + describe(right);
  }
  return text;
}

Json access_review(const Permission& right, const std::string& name_space) {
  const auto slash = right.resource.find('/');
  Json attributes = {{"namespace", name_space}, {"verb", right.verb}, {"group", right.group}, {"resource", right.resource.substr(0, slash)}};
  if (slash != std::string::npos) attributes["subresource"] = right.resource.substr(slash + 1);
  if (!right.name.empty()) attributes["name"] = right.name;
  return {{"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SelfSubjectAccessReview"}, {"spec", {{"resourceAttributes", std::move(attributes)}}}};
}

Permission permission_of_pods() { return {"coordination.k8s.io", "leases", "get", false}; }

std::string account_of_pods(const plan::Plan& plan) {
  const auto& given = plan.options.all.service_account;
  return given.empty() ? "default" : given;
}

Json access_review(const Permission& right, const std::string& name_space, const std::string& account) {
  auto review = access_review(right, name_space);
  review["kind"] = "LocalSubjectAccessReview";
  review["metadata"]["namespace"] = name_space;
  review["spec"]["user"] = fmt::format("system:serviceaccount:{}:{}", name_space, account);
  review["spec"]["groups"] = {"system:serviceaccounts", "system:serviceaccounts:" + name_space, "system:authenticated"};
  return review;
}

bool allowed(const Json& review) {
  const auto* status = review.is_object() ? trainstep::find(review, "status") : nullptr;
  const auto* answer = status != nullptr && status->is_object() ? trainstep::find(*status, "allowed") : nullptr;
  return answer != nullptr && answer->is_boolean() && answer->get<bool>();
}

std::string undecided(const Json& review) {
  const auto* status = at(&review, "status");
  return is_true(at(status, "denied")) || allowed(review) ? std::string() : text(status, "evaluationError");
}

Json role(const std::vector<Permission>& rights, const std::string& name_space, std::string_view name) {
  Json rules = Json::array();
  for (const auto& right : rights) {
    Json rule = {{"apiGroups", {right.group}}, {"resources", {right.resource}}, {"verbs", Json::array()}};
    if (!right.name.empty()) rule["resourceNames"] = {right.name};
    auto same = std::ranges::find_if(rules, [&](Json other) {
      other["verbs"] = Json::array();
      return other == rule;
    });
    if (same == rules.end()) same = rules.insert(rules.end(), std::move(rule));
    (*same)["verbs"].push_back(right.verb);
  }
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "Role"},
          {"metadata", {{"name", std::string(name)}, {"namespace", name_space}}},
          {"rules", std::move(rules)}};
}

Json subject_review() { return {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}}; }

// A service account is "system:serviceaccount:NAMESPACE:NAME".
Json subject_of(const Json& review) {
  const auto user = text(at(at(&review, "status"), "userInfo"), "username");
  if (user.empty()) return {};
  const auto parts = split(user, ':');
  if (parts.size() == 4 && parts[0] == "system" && parts[1] == "serviceaccount")
    return {{"kind", "ServiceAccount"}, {"namespace", std::string(parts[2])}, {"name", std::string(parts[3])}};
  return {{"kind", "User"}, {"apiGroup", "rbac.authorization.k8s.io"}, {"name", user}};
}

Json role_binding(const Json& subject, const std::string& name_space, std::string_view name) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "RoleBinding"},
          {"metadata", {{"name", std::string(name)}, {"namespace", name_space}}},
          {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", std::string(name)}}},
          {"subjects", {subject}}};
}

}  // namespace trainstep::cluster
