// SPDX-License-Identifier: Apache-2.0
#include "step/executor_output.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "data/tree.h"
#include "spec/reported_location.h"
#include "step/given.h"
#include "step/results.h"

namespace trainstep::step {
namespace {

// A property that is null fails the step; inside a list or an object null is allowed (converter.go, 2.17).
void put_all(std::vector<std::pair<std::string, Json>>& metadata, const Json& members) {
  if (!members.is_object()) return;
  for (const auto& [key, value] : members.items())
    if (!value.is_null()) metadata.emplace_back(key, value);
}

Json metadata_of(const StepSummary& summary, const std::string& name) {
  std::vector<std::pair<std::string, Json>> members;
  if (name == "metrics" || name == "mlpipeline_metrics") put_all(members, all_metrics(summary.metrics));
  if (name == "model_dir" && summary.plan != nullptr && has_model(summary.outcome))
    put_all(members, {{"job_name", summary.plan->job_name},
                      {"distribution_type", summary.plan->job_type},
                      {"number_of_workers", summary.plan->distribution.workers}});
  for (const auto& output : summary.outcome.outputs)
    if (output.artifact && output.step_path == name) put_all(members, output.metadata);
  auto metadata = make_object(std::move(members));
  // Set by the launcher itself.
  for (const auto* reserved : {"display_name", "store_session_info"}) metadata.erase(reserved);
  return metadata;
}

// MINIO://…/RUN/TASK/UUID/NAME, or without the UUID: the folder of the task, or of the run.
std::string_view folder_of(std::string_view uri) {
  for (int parts = 0; parts < 2; ++parts) uri = uri.substr(0, std::min(uri.rfind('/'), uri.size()));
  return uri;
}

}  // namespace

std::string own_address(const run::Outcome& outcome, const OutputTarget& target) {
  for (const auto& output : outcome.outputs)
    if (output.artifact && output.step_path == target.name && output.present && !output.earlier && output.path != target.uri &&
        output.path != target.path)
      return output.path;
  return {};
}

bool registers(const OutputTarget& target, std::string_view address) {
  constexpr std::array uploaded_from{"gs://", "minio://", "s3://"};
  if (!spec::parse_reported_location(address).address) return false;
  if (std::ranges::none_of(uploaded_from, [&](const char* scheme) { return address.starts_with(scheme); })) return true;
  const auto folder = folder_of(target.uri);
  return looks_like_address(folder) && address.starts_with(folder) && address.substr(folder.size()).starts_with('/');
}

Json executor_output(const StepSummary& summary, const std::map<std::string, Json>& parameters) {
  auto output = Json::object();
  for (const auto& [name, value] : parameters) output["parameterValues"][name] = value;
  for (const auto& target : summary.inputs.targets) {
    if (target.kind != OutputTarget::Kind::artifact) continue;
    auto artifact = Json::object();
    if (auto metadata = metadata_of(summary, target.name); !metadata.empty()) artifact["metadata"] = std::move(metadata);
    if (auto address = own_address(summary.outcome, target); target.name == "model_dir" && !address.empty()) artifact["uri"] = std::move(address);
    if (!artifact.empty()) output["artifacts"][target.name] = {{"artifacts", Json::array({std::move(artifact)})}};
  }
  return output;
}

}  // namespace trainstep::step
