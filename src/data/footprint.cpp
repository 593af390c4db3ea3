// SPDX-License-Identifier: Apache-2.0
#include "data/footprint.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "data/digest.h"

namespace trainstep {
namespace {

namespace fs = std::filesystem;

std::string entry_text(const fs::path& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return "";
  return fmt::format("{} {} {} {}.{} {}.{}\n", path.string(), found.st_ino, found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec,
                     found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
}

constexpr std::size_t most_entries = 10'000;

}  // namespace

std::string Footprint::look(const fs::path& path) {
  std::vector<std::string> entries{entry_text(path)};
  if (entries.front().empty()) return "";
  std::error_code code;
  for (auto entry = fs::recursive_directory_iterator(path, code); !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    entries.push_back(entry_text(entry->path()));
    if (entries.size() > most_entries) return "many";
  }
  std::sort(entries.begin(), entries.end());
  std::string all;
  for (const auto& entry : entries) all += entry;
  return sha256_hex(all);
}

bool Footprint::written() const {
  const auto now = look(m_path);
  return !now.empty() && (now == "many" || now != m_before);
}

}  // namespace trainstep
