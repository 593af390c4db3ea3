// SPDX-License-Identifier: Apache-2.0
#include "cluster/node_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cluster/objects.h"
#include "plan/quantity.h"

namespace trainstep::cluster {
namespace {

double amount(const Json& value) {
  const auto parsed = plan::parse_quantity(value.is_string() ? value.get<std::string>() : value.dump(), "");
  return parsed ? parsed->value : 0;
}

// Of all containers together, by resource; without a request the limit counts.
std::map<std::string, double> requests_of(const Json* spec) {
  std::map<std::string, double> sums;
  const auto* containers = at(spec, "containers");
  if (containers == nullptr || !containers->is_array()) return sums;
  for (const auto& container : *containers) {
    std::map<std::string, double> own;
    for (const auto* kind : {"limits", "requests"})
      if (const auto* values = at(at(&container, "resources"), kind); values != nullptr && values->is_object())
        for (const auto& [name, value] : values->items()) own[name] = amount(value);
    for (const auto& [name, value] : own) sums[name] += value;
  }
  return sums;
}

bool is_selected(const Json& node, const Json* selector) {
  if (is_true(at(at(&node, "spec"), "unschedulable"))) return false;
  if (selector == nullptr || !selector->is_object()) return true;
  const auto* labels = at(metadata_of(node), "labels");
  return std::ranges::all_of(selector->items(), [&](const auto& wanted) {
    const auto* value = at(labels, wanted.key());
    return value != nullptr && *value == wanted.value();
  });
}

bool has_room(const Json& node, const std::map<std::string, double>& requests) {
  const auto* allocatable = at(at(&node, "status"), "allocatable");
  return std::ranges::all_of(requests, [&](const auto& request) {
    const auto* value = at(allocatable, request.first);
    return request.second == 0 || (value != nullptr && amount(*value) >= request.second);
  });
}

}  // namespace

std::vector<std::string> pods_without_node(const std::vector<DryRunPod>& pods, const Json& nodes) {
  std::vector<std::string> sentences;
  const auto* items = at(&nodes, "items");
  if (items == nullptr || !items->is_array()) return sentences;
  for (const auto& pod : pods) {
    const auto* spec = at(&pod.pod, "spec");
    const auto* selector = at(spec, "nodeSelector");
    const auto requests = requests_of(spec);
    const auto fits = [&](const Json& node) { return is_selected(node, selector) && has_room(node, requests); };
    if (std::ranges::any_of(*items, fits)) continue;
    if (std::ranges::none_of(*items, [&](const Json& node) { return is_selected(node, selector); })) {
      sentences.push_back(fmt::format("no schedulable node has the labels of node_selector, for pods of {}", pod.type));
      continue;
    }
    std::string wanted;
    for (const auto& [name, value] : requests) wanted += fmt::format("{}{} {}", wanted.empty() ? "" : ", ", name, value);
    sentences.push_back(fmt::format("no node is large enough for a pod of {}: {}", pod.type, wanted));
  }
  return sentences;
}

void trim_node(Json& node) {
  Json rest = Json::object();
  if (const auto* labels = at(metadata_of(node), "labels")) rest["metadata"]["labels"] = *labels;
  if (const auto* allocatable = at(at(&node, "status"), "allocatable")) rest["status"]["allocatable"] = *allocatable;
  if (is_true(at(at(&node, "spec"), "unschedulable"))) rest["spec"]["unschedulable"] = true;
  node = std::move(rest);
}

}  // namespace trainstep::cluster
