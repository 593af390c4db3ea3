// SPDX-License-Identifier: Apache-2.0
#include "data/signature.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/walk_tree.h"
#include "data/digest.h"

namespace trainstep {
namespace {

namespace fs = std::filesystem;

// SIGNER, a digest of what was put there, and where what gave way is, from the target's folder; a line each.
constexpr std::string_view signature_note = "signature";

// Empty: not all of it can be looked at.
std::string content_of(const fs::path& target) {
  std::vector<std::string> files;
  const auto see = [&](const std::string& name, const struct stat& found) {
    if (S_ISREG(found.st_mode)) files.push_back(fmt::format("{} {}\n", found.st_size, name));
    return name.substr(name.starts_with('/') ? 1 : 0) == OutputPlace::inside_name ? Walk::past : Walk::on;
  };
  struct stat self{};
  if (::stat(target.c_str(), &self) != 0) return {};
  if (S_ISREG(self.st_mode)) see("", self);
  if (S_ISDIR(self.st_mode) && walk_tree(target, see) != 0) return {};
  std::ranges::sort(files);
  std::string all;
  for (const auto& file : files) all += file;
  return sha256_hex(all);
}

}  // namespace

Result<void> sign(const OutputPlace& place, const std::string& signer, const std::optional<fs::path>& aside) {
  const auto beside = aside ? aside->lexically_relative(place.target.parent_path()).string() : std::string();
  return place.note(signature_note, fmt::format("{}\n{}\n{}", signer, content_of(place.target), beside));
}

void unsign(const OutputPlace& place) { place.forget(signature_note); }

Signed signed_by(const fs::path& target, const std::string& signer) {
  const auto place = OutputPlace::of(target);
  const auto note = place.noted(signature_note);
  if (note.empty()) return place.shows_notes() ? Signed::no : Signed::unknown;
  if (!note.starts_with(signer + '\n')) return Signed::no;
  const auto content = content_of(place.target);
  return content.empty() || note.substr(signer.size() + 1).starts_with(content + '\n') ? Signed::yes : Signed::no;
}

std::optional<fs::path> gave_way(const OutputPlace& place) {
  const auto note = place.noted(signature_note);
  const auto name = note.substr(note.rfind('\n') + 1);
  auto aside = place.target.parent_path() / name;
  std::error_code code;
  return !name.empty() && fs::exists(fs::symlink_status(aside, code)) ? std::optional(std::move(aside)) : std::nullopt;
}

}  // namespace trainstep
