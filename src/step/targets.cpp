// SPDX-License-Identifier: Apache-2.0
#include "step/targets.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/text.h"
#include "step/given.h"

namespace trainstep::step {
namespace {

namespace fs = std::filesystem;

fs::path absolute(const std::string& path) {
  std::error_code ignored;  // without a working directory the path stays as it is
  const auto whole = fs::absolute(path, ignored);
  return (whole.empty() ? fs::path(path) : whole).lexically_normal();
}

// The folder or its nearest parent that exists must take new entries.
Result<void> check_writable(std::string_view name, fs::path folder) {
  std::error_code ignored;
  while (!fs::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, ignored))
    return input_error(fmt::format("{}: {} is no folder; nothing can be written below it, give another path", name, folder.string()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return input_error(fmt::format("{}: no right to write into the folder {}; give another path", name, folder.string()));
  return {};
}

Result<void> check_file(std::string_view name, const std::string& path) {
  const auto place = absolute(path);
  std::error_code ignored;
  const auto status = fs::status(place, ignored);
  if (fs::is_directory(status)) return input_error(fmt::format("{}: {} is a folder, a file is to be written there; give another path", name, path));
  if (fs::exists(status) && !fs::is_regular_file(status)) return {};
  return check_writable(name, place.has_filename() ? place.parent_path() : place);
}

}  // namespace

Result<void> check_folder(std::string_view name, const std::string& path) { return check_writable(name, absolute(path)); }

Result<void> check_targets(const std::vector<OutputTarget>& targets) {
  std::map<std::string, std::string> taken;  // path → output
  for (const auto& target : targets) {
    if (target.path.empty()) continue;
    if (target.kind == OutputTarget::Kind::file && is_address(target.path))
      return usage_error(fmt::format("{}: {} is an address, but this file is written on this machine; give it a path", target.name, target.path));
    const auto place = absolute(target.path).string();
    if (const auto [other, first] = taken.emplace(place, target.name); !first && !place.starts_with("/dev/"))
      return usage_error(fmt::format("{} and {}: both name {}; give each output a path of its own", other->second, target.name, target.path));
    if (target.name == "model_dir")  // file or folder, as the program likes
      TRY(check_writable(target.name, absolute(target.path).parent_path()));
    else
      TRY(check_file(target.name, target.path));
  }
  return {};
}

}  // namespace trainstep::step
