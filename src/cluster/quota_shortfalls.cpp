// SPDX-License-Identifier: Apache-2.0
#include "cluster/quota_shortfalls.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "cluster/objects.h"
#include "plan/quantity.h"

namespace trainstep::cluster {
namespace {

// With the names that quotas use (kubernetes.io/docs/concepts/policy/resource-quotas); what a replica does not request is not counted.
std::map<std::string, double> needs(const std::vector<job_types::Replicas>& replicas, const std::string& gpu_resource) {
  std::map<std::string, double> sums;
  for (const auto& each : replicas) {
    sums["pods"] += each.count;
    sums["count/pods"] += each.count;
    const auto add = [&](const std::string& name, double value) {
      for (const auto* prefix : {"", "requests.", "limits."}) sums[prefix + name] += value * each.count;
    };
    if (each.resources.cpus) add("cpu", each.resources.cpus->value.value);
    if (each.resources.memory) add("memory", each.resources.memory->value.value);
    if (each.resources.gpus.value > 0) sums["requests." + gpu_resource] += each.resources.gpus.value * each.count;
  }
  return sums;
}

std::optional<double> quantity(const Json* values, const std::string& key) {
  const auto* value = at(values, key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  const auto parsed = plan::parse_quantity(value->get_ref<const std::string&>(), key);
  return parsed ? std::optional(parsed->value) : std::nullopt;
}

}  // namespace

std::vector<std::string> quota_shortfalls(const Json& quotas, const std::vector<job_types::Replicas>& replicas, const std::string& gpu_resource) {
  std::vector<std::string> sentences;
  const auto wanted = needs(replicas, gpu_resource);
  const auto* items = at(&quotas, "items");
  if (items == nullptr || !items->is_array()) return sentences;
  for (const auto& quota : *items) {
    const auto* name = at(at(&quota, "metadata"), "name");
    const auto* status = at(&quota, "status");
    for (const auto& [key, need] : wanted) {
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
