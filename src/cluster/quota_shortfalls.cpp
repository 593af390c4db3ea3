// SPDX-License-Identifier: Apache-2.0
#include "cluster/quota_shortfalls.h"

#include <fmt/format.h>

#include <optional>

#include "cluster/objects.h"
#include "plan/quantity.h"

namespace trainstep::cluster {
namespace {

std::optional<double> quantity(const Json* values, const std::string& key) {
  const auto* value = at(values, key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  const auto parsed = plan::parse_quantity(value->get_ref<const std::string&>(), key);
  return parsed ? std::optional(parsed->value) : std::nullopt;
}

}  // namespace

void add_objects(QuotaNeeds& needs, const std::string& resource, int count) {
  needs["count/" + resource] += count;
  if (resource.find('.') == std::string::npos) needs[resource] += count;
}

void add_claim(QuotaNeeds& needs, const std::string& size) {
  add_objects(needs, "persistentvolumeclaims");
  if (const auto storage = plan::parse_quantity(size, "pvc_size")) needs["requests.storage"] += storage->value;
}

// What a replica does not request is not counted.
QuotaNeeds needs_of_pods(const plan::Plan& plan, const job_types::Resource& resource) {
  QuotaNeeds needs;
  const auto& job_type = job_types::find(plan.job_type);
  for (const auto& each : job_type.replicas(plan)) {
    add_objects(needs, "pods", each.count);
    const auto add = [&](const std::string& name, double value) {
      for (const auto* prefix : {"", "requests.", "limits."}) needs[prefix + name] += value * each.count;
    };
    if (each.resources.cpus) add("cpu", each.resources.cpus->value.value);
    if (each.resources.memory) add("memory", each.resources.memory->value.value);
    if (each.resources.gpus.value > 0) needs["requests." + plan.options.gpu_resource] += each.resources.gpus.value * each.count;
  }
  if (job_type.operator_objects != nullptr)
    for (const auto& [objects, count] : job_type.operator_objects(plan, resource)) add_objects(needs, std::string(objects), count);
  return needs;
}

std::vector<std::string> quota_shortfalls(const Json& quotas, const QuotaNeeds& needs) {
  std::vector<std::string> sentences;
  const auto* items = at(&quotas, "items");
  if (items == nullptr || !items->is_array()) return sentences;
  for (const auto& quota : *items) {
    const auto* name = at(at(&quota, "metadata"), "name");
    const auto* status = at(&quota, "status");
    for (const auto& [key, need] : needs) {
      const auto hard = quantity(at(status, "hard"), key);
      const auto used = quantity(at(status, "used"), key).value_or(0);
      if (!hard || used + need <= *hard) continue;
      sentences.push_back(fmt::format("quota {}: {}: requested {}, {} of {} left",
                                      name != nullptr && name->is_string() ? name->get<std::string>() : "?", key, need, *hard - used, *hard));
    }
  }
  return sentences;
}

}  // namespace trainstep::cluster
