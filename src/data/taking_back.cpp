// SPDX-License-Identifier: Apache-2.0
#include "data/taking_back.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/remove_tree.h"
#include "data/output_folder.h"
#include "data/output_moves.h"
#include "data/signature.h"

namespace trainstep {

namespace fs = std::filesystem;

namespace {

// Exchanges atomically where the file system can, so that a kill leaves one or the other there.
Result<void> swap_back(const OutputPaths& place, const fs::path& before) {
  if (exchange_outputs(before, place.target)) {
    auto moved = move_output(before, place.path);
    if (!moved) exchange_outputs(before, place.target);
    return moved;
  }
  TRY(move_output(place.target, place.path));
  auto restored = move_output(before, place.target);
  if (restored) return {};
  if (!move_output(place.path, place.target)) restored.error().message += fmt::format("; it is in {}", place.path.string());
  return restored;
}

}  // namespace

Result<std::optional<Restored>> take_back(const OutputPaths& place, const std::string& signer, const std::string& owner) {
  if (signer.empty() || place.inside || place.over || signed_by(place.target, signer) != Signed::yes) return std::optional<Restored>();
  const auto before = displaced_path(place);
  TRY(empty_place(place.path.parent_path(), place.target));
  TRY(make_directories(place.path.parent_path()));
  TRY(write_file_atomically(place.folder / "owner", owner));  // the disk may be full: nothing may fail after the move
  TRY(before ? swap_back(place, *before) : move_output(place.target, place.path));
  forget_signature_beside(place);
  return std::optional(before ? Restored::yes : Restored::nothing);
}

Result<std::optional<Reverted>> take_back(const fs::path& target, const std::string& signer) {
  const auto place = OutputPaths::of(target);
  ASSIGN(const auto held, lock_folder(place.folder, place.target));
  const auto taken = take_back(place, signer, signer);
  tidy_folder(held.first, place.folder);
  if (!taken) return taken.error();
  const auto& restored = *taken;
  return restored ? std::optional(Reverted{*restored, place.path}) : std::nullopt;
}

std::string describe_staying(const std::string& output, const fs::path& target, const std::string& signer, Why why) {
  const auto place = OutputPaths::of(target);
  const auto ours = signed_by(target, signer);
  if (ours == Signed::no || ours == Signed::unknown) return {};
  auto text = fmt::format("{}: the training's output stays at {}", output, target.string());
  if (const auto before = displaced_path(place)) text += fmt::format(", and the previous contents are in {}", before->string());
  if (why == Why::told) text += ours == Signed::yes ? ": it is a mount point, or nothing can be created next to it" : ": it has changed since";
  return text;
}

Result<void> confirm_output(const fs::path& target, const std::string& signer) {
  const auto place = OutputPaths::of(target);
  const auto ours = displaced_in(place.folder).empty() ? Signed::no : signed_by(target, signer);
  if (ours != Signed::yes && ours != Signed::touched) return {};
  const auto held = lock_folder(place.folder, place.target);
  if (!held) return held.error().kind == ErrorKind::conflict ? Result<void>() : Result<void>(held.error());  // locked by the next run: it removes it
  for (const auto& old : displaced_in(place.folder)) TRY(remove_tree(old));
  tidy_folder(held->first, place.folder);
  return {};
}

// As named by free_name() in pending_output.cpp: old, old.~1~, …
std::vector<fs::path> displaced_in(const fs::path& folder) {
  auto olds = entries_of(folder);
  std::erase_if(olds, [](const fs::path& path) { return path.filename() != "old" && !path.filename().string().starts_with("old.~"); });
  return olds;
}

}  // namespace trainstep
