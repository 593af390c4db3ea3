// SPDX-License-Identifier: Apache-2.0
#include "data/taking_back.h"

#include <algorithm>

#include "base/files.h"
#include "base/remove_tree.h"
#include "data/output_folder.h"
#include "data/output_moves.h"
#include "data/signature.h"

namespace trainstep {

namespace fs = std::filesystem;

Result<std::optional<Restored>> take_back(const OutputPlace& place, const std::string& signer) {
  if (signer.empty() || place.inside || place.over || signed_by(place.target, signer) != Signed::yes) return std::optional<Restored>();
  const auto before = gave_way(place);
  TRY(empty_place(place.path.parent_path(), place.target));
  TRY(make_directories(place.path.parent_path()));
  TRY(move_output(place.target, place.path));
  if (auto restored = before ? move_output(*before, place.target) : Result<void>(); !restored) {
    TRY(move_output(place.path, place.target));
    return std::move(restored.error());
  }
  return std::optional(before ? Restored::yes : Restored::nothing);
}

Result<void> confirm_output(const fs::path& target, const std::string& signer) {
  const auto place = OutputPlace::of(target);
  if (olds_in(place.folder).empty() || signed_by(target, signer) != Signed::yes) return {};
  const auto held = lock_folder(place.folder, place.target);
  if (!held) return held.error().kind == ErrorKind::conflict ? Result<void>() : Result<void>(held.error());  // the next run is here, and removes it
  for (const auto& old : olds_in(place.folder)) TRY(remove_tree(old));
  tidy_folder(place.folder);
  return {};
}

// As free_name() in pending_output.cpp makes them: old, old.~1~, …
std::vector<fs::path> olds_in(const fs::path& folder) {
  auto olds = entries_of(folder);
  std::erase_if(olds, [](const fs::path& path) { return path.filename() != "old" && !path.filename().string().starts_with("old.~"); });
  return olds;
}

}  // namespace trainstep
