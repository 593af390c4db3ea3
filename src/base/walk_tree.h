// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>

namespace trainstep {

// Calls `see` with each name in a folder that is open for reading, but "." and "..", until it says false. 0, or an errno.
int each_name(int folder, const std::function<bool(const char* name)>& see);

enum class Walk { on, past, stop };  // `past`: not into this folder

// Sees everything below `root`, a folder or a link to one: its path below the root, "/a/b", and lstat(2) of it. No link is followed. Time and memory
// are those of the entries, however deep they lie. 0, or an errno: something could not be looked at, and, if it is not EACCES, nothing behind it.
int walk_tree(const std::filesystem::path& root, const std::function<Walk(const std::string& path, const struct stat& found)>& see);

}  // namespace trainstep
