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

// First all contents are written and synced beside their targets, then they are renamed in the given order: whoever sees the last one sees them all,
// and a full disk leaves none. A file that is a mount itself is written in place, behind all others. Folders are made. What is no regular file
// (a pipe) is written to directly, and so is what is open already (/dev/stdout, /proc/self/fd/3), whatever it is; one that nobody reads for ten
// seconds is an error. What a run that was killed in the middle of it has left beside a target is removed. A path that is given twice gets the later
// content, what is written to directly gets both. `before_renaming` is the last that can fail it all. Errors: conflict (a folder stands there by
// now), denied, internal, its own.
Result<void> write_together(const std::vector<FileContent>& files, const std::function<Result<void>()>& before_renaming = {});

}  // namespace trainstep::step
