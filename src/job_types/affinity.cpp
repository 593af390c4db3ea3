// SPDX-License-Identifier: Apache-2.0
#include "job_types/affinity.h"

#include <string>
#include <utility>

namespace trainstep::job_types {
namespace {

constexpr auto required = "requiredDuringSchedulingIgnoredDuringExecution";

// The member `key` of an object; if missing, it is created as `empty`. Null: it has another type, which the API server will report.
Json* member(Json* object, const char* key, const Json& empty) {
  if (object == nullptr || !object->is_object()) return nullptr;
  auto& value = (*object)[key];
  if (value.is_null()) value = empty;
  return value.type() == empty.type() ? &value : nullptr;
}

// Selects the node by its name, because its label kubernetes.io/hostname may differ.
void add_node(Json& affinity, const std::string& node) {
  auto* selector = member(member(&affinity, "nodeAffinity", Json::object()), required, Json::object());
  auto* terms = member(selector, "nodeSelectorTerms", Json::array());
  if (terms == nullptr) return;
  if (terms->empty()) terms->push_back(Json::object());
  for (auto& term : *terms)
    if (auto* fields = member(&term, "matchFields", Json::array()))
      fields->push_back({{"key", "metadata.name"}, {"operator", "In"}, {"values", {node}}});
}

// The first pod has no other pod to be placed with: for terms that match the pod itself, the scheduler allows any node (Kubernetes'
// pkg/scheduler/framework/plugins/interpodaffinity, satisfyPodAffinity).
void add_pods(Json& affinity, const plan::Plan& plan) {
  if (has_pod_affinity(affinity)) return;
  auto* terms = member(member(&affinity, "podAffinity", Json::object()), required, Json::array());
  if (terms == nullptr) return;
  auto labels = Json::object();  // all labels, because a run may have several jobs
  for (const auto& [key, value] : plan.labels) labels[key] = value;
  terms->push_back({{"labelSelector", {{"matchLabels", std::move(labels)}}}, {"topologyKey", "kubernetes.io/hostname"}});
}

}  // namespace

bool has_pod_affinity(const Json& affinity) {
  const auto part = [](const Json* object, const char* key) { return object != nullptr && object->is_object() ? find(*object, key) : nullptr; };
  const auto* terms = part(part(&affinity, "podAffinity"), required);
  return terms != nullptr && !terms->empty();
}

Json affinity_of(const plan::Plan& plan, Json given) {
  if (plan.nodes.node.empty() && !plan.nodes.together) return given;
  if (given.is_null()) given = Json::object();
  if (!plan.nodes.node.empty())
    add_node(given, plan.nodes.node);
  else
    add_pods(given, plan);
  return given;
}

}  // namespace trainstep::job_types
