// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_only.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "data/fields.h"

namespace trainstep::cli {
namespace {

using Names = std::vector<std::string_view>;

bool is_given(const Json& value) { return !value.is_null() && !is_blank(value) && (!value.is_structured() || !value.empty()); }

// The members of `object` that are, or are not, in `names`.
void add_members(const Json* object, const std::string& where, const Names& names, bool among, std::vector<std::string>& found) {
  if (object == nullptr || !object->is_object()) return;
  for (const auto& [key, value] : object->items())
    if (is_given(value) && (std::ranges::find(names, std::string_view(key)) != names.end()) == among) found.push_back(where + key);
}

void add_options(const Json& options, std::vector<std::string>& found) {
  const Names used{"component", "environment", "replicas", "pass_environment", "run_policy", "limits", "logs", "metrics"};
  add_members(&options, "job_options.", used, false, found);
  add_members(find(options, "run_policy"), "job_options.run_policy.", {"ttl_after_finished", "clean_pod_policy", "suspend"}, true, found);
  add_members(find(options, "limits"), "job_options.limits.", {"queued", "scheduling"}, true, found);
  const auto* replicas = find(options, "replicas");
  if (replicas == nullptr || !replicas->is_object()) return;
  for (const auto& [type, own] : replicas->items()) add_members(&own, fmt::format("job_options.replicas.{}.", type), {"environment"}, false, found);
}

}  // namespace

std::optional<std::string> without_effect_here(const plan::Request& request) {
  std::vector<std::string> found;
  if (request.job_options.is_object()) add_options(request.job_options, found);
  if (is_given(request.node_selector)) found.emplace_back("node_selector");
  if (!request.pvc_name.empty()) found.emplace_back("pvc_name");
  if (!request.cluster_configuration_secrets.empty()) found.emplace_back("cluster_configuration_secret");
  if (found.empty()) return std::nullopt;
  return fmt::format("ignored on this machine ({} only in a cluster): {}", found.size() == 1 ? "it applies" : "they apply", join(found, ", "));
}

}  // namespace trainstep::cli
