// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <optional>

namespace trainstep {

// When the file was created (btime), which no program can set; a file that replaces another of the same name has a later one, even if it gets the
// inode of the removed one. `found`: the result of stat() or lstat() for `path`. Nothing where the file system does not store it (NFSv3, FUSE).
std::optional<timespec> birth_time(const std::filesystem::path& path, const struct stat& found);

}  // namespace trainstep
