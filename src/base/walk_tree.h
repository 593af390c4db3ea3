// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>

namespace trainstep {

// Calls `see` with each name except "." and ".." in the folder open for reading at `folder`, until it returns false. Returns 0 or an errno.
int each_name(int folder, const std::function<bool(const char* name)>& see);

enum class Walk { on, past, stop };  // `past`: do not enter this folder

// Calls `see` for everything below `root`, a folder or a link to one, with the path below the root, "/a/b", and its lstat(2). Does not follow links.
// Time and memory are proportional to the number of entries, whatever their depth. Returns 0 or an errno: an entry could not be inspected, and,
// unless it is EACCES, the walk stopped there.
int walk_tree(const std::filesystem::path& root, const std::function<Walk(const std::string& path, const struct stat& found)>& see);

}  // namespace trainstep
