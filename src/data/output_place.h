// Where an output is to be, where it waits for that, and what is noted of what lies there (pending_output.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace trainstep {

struct OutputPlace {
  static constexpr auto inside_name = ".trainstep";

  std::filesystem::path target;
  std::filesystem::path folder;  // `.NAME.trainstep` beside the target, or `.trainstep` in it
  std::filesystem::path path;    // of the output until it is committed: `new/NAME` in the folder
  bool inside = false;           // the folder lies in the target: that is mounted, or nothing can be made beside it
  bool over = false;             // the target is a mounted file

  // As it is now, for whoever runs this. A link at the target is followed.
  static OutputPlace of(const std::filesystem::path& target);

  // Notes go with the target, where the file system keeps attributes of it; else they are files in the folder. Errors: those of
  // write_file_atomically().
  [[nodiscard]] std::string noted(std::string_view what) const;  // empty: nothing
  Result<void> note(std::string_view what, const std::string& text) const;
  void forget(std::string_view what) const;
  // Whether attributes that others have noted would be seen here.
  [[nodiscard]] bool shows_notes() const;
};

}  // namespace trainstep
