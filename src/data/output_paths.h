// The target of an output, the place where it is pending, and the notes about what is at the target (pending_output.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace trainstep {

struct OutputPaths {
  static constexpr auto inside_name = ".trainstep";

  std::filesystem::path target;
  std::filesystem::path folder;  // `.NAME.trainstep` next to the target, or `.trainstep` in it
  std::filesystem::path path;    // of the output until it is committed: `new/NAME` in the folder
  bool inside = false;           // the folder is in the target, because that is mounted, or nothing can be created next to it
  bool over = false;             // the target is a mounted file

  // The current state, with the permissions of this process. A link at the target is followed.
  static OutputPaths of(const std::filesystem::path& target);

  // Notes are extended attributes of the target where the file system supports them, otherwise files in the folder. Errors: those of
  // write_file_atomically().
  [[nodiscard]] std::string noted(std::string_view what) const;  // empty: no note
  Result<void> note(std::string_view what, const std::string& text) const;
  void forget(std::string_view what) const;
  // Whether attributes set elsewhere would be visible here.
  [[nodiscard]] bool shows_notes() const;
};

}  // namespace trainstep
