// SPDX-License-Identifier: Apache-2.0
#include "plan/identity_hash.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "data/digest.h"
#include "data/json.h"
#include "plan/mounts.h"
#include "plan/overlap.h"
#include "plan/plan.h"

namespace trainstep::plan {
namespace {

namespace fs = std::filesystem;

std::string in_store(const DataPlan& data, const TaskPlace& place) { return canonical_address(data.task.stores[place.store].endpoint, place.uri); }

// "" if the path is not on a claim.
std::string on_claim(const DataPlan& data, const std::string& path) {
  const auto claim = std::ranges::find_if(data.claims, [&](const ClaimMount& mount) { return lies_in(path, mount.mount_path); });
  if (claim == data.claims.end()) return {};
  const auto below = fs::path(path).lexically_relative(claim->mount_path);
  return claim->claim + ":" + normal_path((fs::path("/") / fs::path(claim->sub_path).relative_path() / below).string());
}

bool is_carried(const std::vector<StagedPath>& carried, const std::string& name) {
  return std::ranges::find(carried, name, &StagedPath::name) != carried.end();
}

Json addresses(const Plan& plan) {
  const auto& data = plan.data;
  Json found = Json::array();
  const auto add = [&](std::string_view what, const std::string& name, const std::string& place) {
    if (!place.empty()) found.push_back({what, name, place});
  };
  for (const auto& [name, path] : data.placement.inputs) {
    const auto fetched = std::ranges::find(data.task.inputs, name, &TaskInput::name);
    if (fetched == data.task.inputs.end())
      add("input", name, on_claim(data, path));
    else if (!is_carried(data.uploads, name))
      add("input", name, in_store(data, fetched->from));
  }
  for (const auto& output : data.task.outputs) {
    if (!output.folder_is.empty())
      add("output", output.name, on_claim(data, place_on_claim(output).string()));
    else if (output.to.in_store() && !is_carried(data.downloads, output.name))
      add("output", output.name, in_store(data, output.to));
  }
  for (const auto& variable : plan.environment)
    if (variable.source == "tensorboard_s3_address" && variable.name == "TENSORBOARD_S3_ADDRESS" && variable.value.is_string())
      add("variable", variable.name, variable.value.get<std::string>());
  return found;
}

}  // namespace

std::string hash_with_addresses(const Plan& plan) {
  const auto found = addresses(plan);
  return found.empty() ? plan.spec_hash : sha256_hex(plan.spec_hash + to_text(found));
}

}  // namespace trainstep::plan
