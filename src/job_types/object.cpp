// SPDX-License-Identifier: Apache-2.0
#include "job_types/object.h"

#include <string>
#include <vector>

namespace trainstep::job_types {
namespace {

std::string definitions_text(const std::vector<result::MetricDefinition>& metrics) {
  auto list = Json::array();
  for (const auto& [name, regex] : metrics) list.push_back({{"name", name}, {"regex", regex}});
  return to_text(list);
}

std::vector<Manifest::Member> members_of(const Json& texts, const std::string& source) {
  std::vector<Manifest::Member> members;
  for (const auto& [key, value] : texts.items()) members.push_back({key, scalar_text(value), source});
  return members;
}

}  // namespace

Manifest job_object(const plan::Plan& plan, const Resource& resource) {
  const std::string_view by_kind = plan.distribution.type_given ? "distribution_specification.distribution_type" : "default: distribution_type";
  const auto& options = plan.options;
  Manifest object;
  object.set("/apiVersion", std::string(resource.group_version), by_kind);
  object.set("/kind", std::string(resource.kind), by_kind);
  object.set("/metadata/name", plan.job_name, plan.model_name_is_default ? "default: model_name, and the run's id" : "model_name and the run's id");
  if (!plan.name_space.empty()) object.set("/metadata/namespace", plan.name_space, "namespace");
  for (const auto& [key, value] : plan.labels) object.set_member("/metadata/labels", key, value, "default: used to find it");
  object.set_members("/metadata/labels", members_of(options.all.labels, "job_options.labels"));
  if (!options.queue.empty()) object.set_member("/metadata/labels", queue_label, options.queue, "job_options.queue");
  object.set_members("/metadata/annotations", members_of(options.all.annotations, "job_options.annotations"));
  if (!plan.spec_hash.empty())
    object.set_member("/metadata/annotations", spec_hash_annotation, plan.spec_hash, "default: identifies the same job under this name");
  if (!options.metrics.empty())
    object.set_member("/metadata/annotations", metrics_annotation, definitions_text(options.metrics), "job_options.metrics");
  return object;
}

std::string scalar_text(const Json& value) { return value.is_string() ? value.get<std::string>() : to_text(value); }

std::int64_t seconds(Duration duration) { return std::chrono::ceil<std::chrono::seconds>(duration).count(); }

std::string ttl_source(const plan::Plan& plan) {
  return plan.options.run_policy.ttl_is_default ? "default: if no attempt adopts it" : "job_options.run_policy.ttl_after_finished";
}

std::string workers_source(const plan::Plan& plan) {
  return plan.distribution.workers_given ? "distribution_specification.number_of_workers" : "default";
}

}  // namespace trainstep::job_types
