// SPDX-License-Identifier: Apache-2.0
#include "plan/checkpoint_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "plan/mounts.h"
#include "plan/overlap.h"
#include "plan/plan.h"

namespace trainstep::plan {
namespace {

// The name of the step's path, if there is one, because that is the name known to the caller.
template <typename Bound>
std::string shown_name(const std::vector<Bound>& bound, const std::string& formal) {
  const auto found = std::ranges::find(bound, formal, &Bound::name);
  if (found == bound.end()) return formal;
  const auto& path = found->path;
  return path ? path->name : formal;
}

std::vector<Place> places_in_pods(const Plan& plan) {
  std::vector<Place> places;
  const auto add = [&](const std::string& name, const std::string& path) { places.push_back({name, normal_path(path), path, false}); };
  for (const auto& [formal, path] : plan.data.placement.inputs) add(shown_name(plan.binding.inputs, formal), path);
  for (const auto& output : plan.data.task.outputs) {
    const auto name = shown_name(plan.binding.outputs, output.name);
    add(name, output.path);
    if (!output.folder_is.empty()) add(name, place_on_claim(output).string());
  }
  places.push_back({"trainstep's own folder", std::string(agent_folder), std::string(agent_folder), false});
  return places;
}

}  // namespace

Result<void> check_checkpoint_place(const Plan& plan) {
  const auto& given = plan.options.checkpoint_dir;
  const auto folder = normal_path(given);
  for (const auto& other : places_in_pods(plan)) {
    const auto* relation = folder == other.where          ? "is also"
                           : lies_in(other.where, folder) ? "contains"
                           : lies_in(folder, other.where) ? "is in"
                                                          : nullptr;
    if (relation != nullptr)
      return input_error(
          fmt::format("job_options.checkpoint_dir: {} {} {} ({}); checkpoints require a separate folder, apart from inputs and outputs", given,
                      relation, other.name, other.shown));
  }
  return {};
}

}  // namespace trainstep::plan
