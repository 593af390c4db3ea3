// SPDX-License-Identifier: Apache-2.0
#include "cluster/claim_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "plan/overlap.h"

namespace trainstep::cluster {
namespace {

namespace fs = std::filesystem;

constexpr int max_names = 5'000;

// `folder` is the path in the step, `in_pod` that of the same folder in the pods, on the claim that is mounted there at `mount`.
std::string first_astray(const fs::path& folder, const fs::path& in_pod, const std::string& mount) {
  std::error_code problem;
  int names = 0;
  for (fs::directory_iterator at(folder, problem); !problem && at != fs::directory_iterator() && ++names <= max_names; at.increment(problem)) {
    std::error_code unknown;
    if (!at->is_symlink(unknown)) continue;
    const auto target = fs::read_symlink(at->path(), unknown);
    if (!unknown && !plan::lies_in((in_pod / target).lexically_normal().string(), mount))
      return fmt::format("{} is a link to {}", at->path().string(), target.string());
  }
  return "";
}

}  // namespace

std::vector<std::string> links_astray(const plan::Plan& plan) {
  std::vector<std::string> found;
  for (const auto& input : plan.binding.inputs) {
    const auto place = plan.data.placement.inputs.find(input.name);
    if (!input.path || place == plan.data.placement.inputs.end()) continue;
    const auto claim =
        std::ranges::find_if(plan.data.claims, [&](const plan::ClaimMount& mount) { return plan::lies_in(place->second, mount.mount_path); });
    if (claim == plan.data.claims.end()) continue;
    if (const auto link = first_astray(input.path->path, place->second, claim->mount_path); !link.empty())
      found.push_back(
          fmt::format("{}: {}, which resolves differently in the pods: they mount claim {} elsewhere; use a relative link within the claim",
                      input.path->name, link, claim->claim));
  }
  return found;
}

}  // namespace trainstep::cluster
