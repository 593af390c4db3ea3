// Several files that appear together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace trainstep::step {

struct FileContent {
  std::string path;
  std::string content;
};

// Writes and syncs all contents next to their targets, then renames them in the given order: a process that sees the last one sees all of them, and a
// full disk leaves none. A file that is a mount point is written in place, after all others. Creates folders. What is not a regular file (a pipe) is
// written to directly, and so is what is already open (/dev/stdout, /proc/self/fd/3), whatever it is; no reader for ten seconds is an error. Files
// that a killed run left next to a target are removed. If a path is given twice, the later content is kept; direct writes get both. `before_renaming`
// is the last step that can make it fail. Errors: conflict (there is a folder by now), denied, internal, and those of `before_renaming`.
Result<void> write_together(const std::vector<FileContent>& files, const std::function<Result<void>()>& before_renaming = {});

}  // namespace trainstep::step
