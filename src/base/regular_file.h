// Files written by a program, which may have put something else in their place.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace trainstep {

// read_file() (files.h) that never blocks: a FIFO, socket, device or folder is an input error that says so; a file that is too large is rejected
// before any of it is read. Links are followed.
Result<std::string> read_regular_file(const std::filesystem::path& path, std::size_t limit);

// Reads from the current offset to the end, at most `limit` bytes; `path` is used in error messages. `content`: what was read before.
Result<std::string> read_all(int fd, const std::filesystem::path& path, std::size_t limit, std::string content = {});

// A descriptor for writing to a new, empty file. An existing entry of that name is removed first: a link could lead elsewhere, a FIFO could block.
// Returns -1 and sets errno on failure.
int create_new_file(const std::filesystem::path& path);

}  // namespace trainstep
