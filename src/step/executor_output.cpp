// SPDX-License-Identifier: Apache-2.0
#include "step/executor_output.h"

#include "step/results.h"

namespace trainstep::step {
namespace {

void put_all(Json& metadata, const Json& members) {
  if (!members.is_object()) return;
  for (const auto& [key, value] : members.items()) metadata[key] = value;
}

Json metadata_of(const Story& story, const std::string& name) {
  auto metadata = Json::object();
  if (name == "metrics" || name == "mlpipeline_metrics") put_all(metadata, metrics_object(story.metrics));
  if (name == "model_dir" && story.plan != nullptr && has_model(story.outcome))
    put_all(metadata,
            {{"job_name", story.plan->job_name}, {"distribution_type", story.plan->kind}, {"number_of_workers", story.plan->distribution.workers}});
  for (const auto& output : story.outcome.outputs)
    if (output.artifact && output.step_path == name) put_all(metadata, output.metadata);
  // The launcher's own properties.
  for (const auto* reserved : {"display_name", "store_session_info"}) metadata.erase(reserved);
  return without_nulls(metadata);
}

}  // namespace

Json executor_output(const Story& story, const std::map<std::string, Json>& parameters) {
  auto output = Json::object();
  for (const auto& [name, value] : parameters)
    if (!value.is_null()) output["parameterValues"][name] = without_nulls(value);
  for (const auto& target : story.inputs.targets) {
    if (target.kind != OutputTarget::Kind::artifact) continue;
    auto metadata = metadata_of(story, target.name);
    if (!metadata.empty()) output["artifacts"][target.name] = {{"artifacts", Json::array({Json{{"metadata", std::move(metadata)}}})}};
  }
  return output;
}

}  // namespace trainstep::step
