// SPDX-License-Identifier: Apache-2.0
#include "job_types/templates.h"

#include <algorithm>
#include <string_view>

#include "job_types/manifest.h"

namespace trainstep::job_types {
namespace {

const Json* at(const Json* object, std::string_view key) {
  return object != nullptr && object->is_object() ? trainstep::find(*object, key) : nullptr;
}

std::vector<std::string> container_names(const Json* pod_template) {
  std::vector<std::string> names;
  const auto* containers = at(at(pod_template, "spec"), "containers");
  if (containers == nullptr || !containers->is_array()) return names;
  for (const auto& container : *containers) {
    const auto* name = at(&container, "name");
    names.push_back(name != nullptr && name->is_string() ? name->get<std::string>() : "");
  }
  return names;
}

}  // namespace

std::vector<PodTemplate> pod_templates(const Json& job) {
  std::vector<PodTemplate> templates;
  const auto* spec = at(&job, "spec");
  if (spec == nullptr || !spec->is_object()) return templates;
  if (const auto* only = at(spec, "template")) templates.push_back({"/spec/template", "", only});
  for (const auto& [key, types] : spec->items()) {
    if (!key.ends_with("ReplicaSpecs") || !types.is_object()) continue;
    for (const auto& [type, replicas] : types.items())
      if (const auto* its = at(&replicas, "template")) templates.push_back({"/spec/" + escaped(key) + "/" + escaped(type) + "/template", type, its});
  }
  return templates;
}

int replica_count(const Json& job, const std::string& type) {
  const auto* spec = at(&job, "spec");
  if (spec == nullptr || !spec->is_object()) return 0;
  for (const auto& [key, types] : spec->items()) {
    if (!key.ends_with("ReplicaSpecs")) continue;
    const auto* replicas = at(&types, type);
    const auto* count = at(replicas, "replicas");
    if (replicas != nullptr) return count != nullptr && count->is_number_integer() ? count->get<int>() : 1;
  }
  return 0;
}

std::string program_container(const JobType& job_type, const Json& job, const std::string& type) {
  for (const auto& [pointer, of_type, json] : pod_templates(job)) {
    if (!of_type.empty() && of_type != type) continue;
    const auto names = container_names(json);
    if (std::ranges::find(names, job_type.container) != names.end()) return std::string(job_type.container);
    return names.empty() ? "" : names.front();
  }
  return "";
}

}  // namespace trainstep::job_types
