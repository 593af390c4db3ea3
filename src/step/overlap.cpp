// SPDX-License-Identifier: Apache-2.0
#include "step/overlap.h"

#include <filesystem>
#include <vector>

#include "plan/overlap.h"

namespace trainstep::step {
namespace {

namespace fs = std::filesystem;

// The path it resolves to, however it is written.
std::string canonical(const std::string& path) {
  std::error_code unknown;
  auto place = fs::weakly_canonical(fs::absolute(path, unknown), unknown);
  if (unknown) place = fs::absolute(path, unknown).lexically_normal();
  auto text = place.string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

void add(std::vector<plan::Place>& places, const std::vector<plan::StepPath>& paths, bool written) {
  std::error_code unknown;
  for (const auto& path : paths)
    if (!path.path.empty() && path.path.find("://") == std::string::npos &&
        (!fs::exists(path.path, unknown) || fs::is_regular_file(path.path, unknown) || fs::is_directory(path.path, unknown)))
      places.push_back({path.name, canonical(path.path), path.path, written});
}

}  // namespace

Result<void> check_no_overlap(const plan::Request& request) {
  std::vector<plan::Place> places;
  add(places, request.inputs, false);
  add(places, request.outputs, true);
  return plan::check_no_overlap(places);
}

}  // namespace trainstep::step
