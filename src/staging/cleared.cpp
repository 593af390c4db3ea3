// SPDX-License-Identifier: Apache-2.0
#include "staging/cleared.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <vector>

namespace trainstep::staging {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_named = 3;

fs::path below(const fs::path& root, const std::string& path) { return path.empty() ? root : root / path; }

}  // namespace

std::string clear(const fs::path& root, const objectstore::SyncPlan& plan, bool seen_through) {
  std::vector<std::string> removed;
  std::error_code failed;
  const auto remove = [&](const fs::path& path, const std::string& what) {
    if (fs::remove(path, failed)) removed.push_back(what);
  };
  for (const auto& file : plan.gone) {
    remove(below(root, file), fmt::format("{}: it no longer exists in the store", file.empty() ? root.string() : file));
    for (auto folder = fs::path(file).parent_path(); !folder.empty() && !std::ranges::binary_search(plan.folders, folder.string());
         folder = folder.parent_path())
      if (!fs::is_empty(root / folder, failed) || !fs::remove(root / folder, failed)) break;
  }
  if (!seen_through && fs::is_symlink(root, failed)) remove(root, fmt::format("{}: a link in place of the input", root.string()));
  for (const auto& folder : plan.folders)  // parents come first
    if (const auto path = below(root, folder); fs::is_symlink(path, failed)) remove(path, fmt::format("{}: a link in place of a folder", folder));
  if (removed.empty()) return "";
  std::string text = "removed: ";
  for (std::size_t i = 0; i < removed.size() && i < max_named; ++i) text += (i == 0 ? "" : "; ") + removed[i];
  return removed.size() > max_named ? fmt::format("{}; … ({} in all)", text, removed.size()) : text;
}

}  // namespace trainstep::staging
