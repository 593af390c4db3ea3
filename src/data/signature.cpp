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

// Four lines: SIGNER, Contents::files, Contents::state, and the path of the displaced contents, relative to the target's folder.
constexpr std::string_view signature_note = "signature";

// Digests of the contents. Empty: not everything can be read.
struct Contents {
  std::string files;  // of names and sizes of the files
  std::string state;  // also of the modification times and the targets of links
};

std::string digest_of(std::vector<std::string> lines) {
  std::ranges::sort(lines);
  std::string all;
  for (const auto& line : lines) all += line;
  return sha256_hex(all);
}

Contents contents_of(const fs::path& target) {
  std::vector<std::string> files, state;
  const auto see = [&](const std::string& name, const struct stat& found) {
    if (S_ISREG(found.st_mode)) {
      files.push_back(fmt::format("{} {}\n", found.st_size, name));
      state.push_back(fmt::format("{} {}.{} {}\n", found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec, name));
    }
    std::error_code gone;
    if (S_ISLNK(found.st_mode)) state.push_back(fmt::format("{}\n{}\n", name, fs::read_symlink(target.string() + name, gone).string()));
    return name.substr(name.starts_with('/') ? 1 : 0) == OutputPaths::inside_name ? Walk::past : Walk::on;
  };
  struct stat self{};
  if (::stat(target.c_str(), &self) != 0) return {};
  if (S_ISREG(self.st_mode)) see("", self);
  if (S_ISDIR(self.st_mode) && walk_tree(target, see) != 0) return {};
  return {digest_of(std::move(files)), digest_of(std::move(state))};
}

}  // namespace

Result<void> sign(const OutputPaths& place, const std::string& signer, const std::optional<fs::path>& aside) {
  const auto beside = aside ? aside->lexically_relative(place.target.parent_path()).string() : std::string();
  const auto contents = contents_of(place.target);
  return place.note(signature_note, fmt::format("{}\n{}\n{}\n{}", signer, contents.files, contents.state, beside));
}

void unsign(const OutputPaths& place) { place.forget(signature_note); }

void forget_signature_beside(const OutputPaths& place) {
  std::error_code code;
  fs::remove(place.folder / signature_note, code);
}

Signed signed_by(const fs::path& target, const std::string& signer) {
  const auto place = OutputPaths::of(target);
  const auto note = place.noted(signature_note);
  if (note.empty()) return place.shows_notes() ? Signed::no : Signed::unknown;
  if (!note.starts_with(signer + '\n')) return Signed::no;
  const auto contents = contents_of(place.target);
  const auto noted = note.substr(signer.size() + 1);
  if (contents.files.empty() || noted.starts_with(fmt::format("{}\n{}\n", contents.files, contents.state))) return Signed::yes;
  return noted.starts_with(contents.files + '\n') ? Signed::touched : Signed::changed;
}

std::optional<fs::path> displaced_path(const OutputPaths& place) {
  const auto note = place.noted(signature_note);
  const auto name = note.substr(note.rfind('\n') + 1);
  auto aside = place.target.parent_path() / name;
  std::error_code code;
  return !name.empty() && fs::exists(fs::symlink_status(aside, code)) ? std::optional(std::move(aside)) : std::nullopt;
}

}  // namespace trainstep
