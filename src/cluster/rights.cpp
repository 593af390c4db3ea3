// SPDX-License-Identifier: Apache-2.0
#include "cluster/rights.h"

#include <algorithm>
#include <string_view>

namespace trainstep::cluster {
namespace {

std::string group_of(std::string_view group_version) {
  const auto slash = group_version.find('/');
  return slash == std::string_view::npos ? "" : std::string(group_version.substr(0, slash));
}

}  // namespace

std::vector<Right> rights_of(const kinds::Resource& resource, const Facts& facts) {
  std::vector<Right> rights;
  for (const auto* verb : {"create", "delete", "get", "list", "patch", "watch"})
    rights.push_back({group_of(resource.group_version), std::string(resource.plural), verb});
  for (const auto* verb : {"get", "list", "watch"}) rights.push_back({"", "pods", verb, verb != std::string_view("get") || !facts.pod.empty()});
  rights.push_back({"", "pods/log", "get"});
  for (const auto* verb : {"list", "watch"}) rights.push_back({"", "events", verb, false});
  if (facts.workflow)
    for (const auto* verb : {"list", "watch"}) rights.push_back({group_of(facts.workflow->api_version), "workflows", verb, false});
  return rights;
}

Json access_review(const Right& right, const std::string& name_space) {
  const auto slash = right.resource.find('/');
  Json attributes = {{"namespace", name_space}, {"verb", right.verb}, {"group", right.group}, {"resource", right.resource.substr(0, slash)}};
  if (slash != std::string::npos) attributes["subresource"] = right.resource.substr(slash + 1);
  return {{"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SelfSubjectAccessReview"}, {"spec", {{"resourceAttributes", std::move(attributes)}}}};
}

bool allowed(const Json& review) {
  const auto* status = review.is_object() ? trainstep::find(review, "status") : nullptr;
  const auto* answer = status != nullptr && status->is_object() ? trainstep::find(*status, "allowed") : nullptr;
  return answer != nullptr && answer->is_boolean() && answer->get<bool>();
}

Json role(const std::vector<Right>& rights, const std::string& name_space) {
  Json rules = Json::array();
  for (const auto& right : rights) {
    const auto same =
        std::ranges::find_if(rules, [&](const Json& rule) { return rule["apiGroups"][0] == right.group && rule["resources"][0] == right.resource; });
    if (same != rules.end())
      (*same)["verbs"].push_back(right.verb);
    else
      rules.push_back({{"apiGroups", {right.group}}, {"resources", {right.resource}}, {"verbs", {right.verb}}});
  }
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "Role"},
          {"metadata", {{"name", "trainstep"}, {"namespace", name_space}}},
          {"rules", std::move(rules)}};
}

}  // namespace trainstep::cluster
