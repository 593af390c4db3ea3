// Files that a program has written, or could have put something else in place of.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace trainstep {

// read_file() (files.h) that never waits: a FIFO, a socket, a device or a folder is an error (input) that says so, and so is a file that is too
// large, before any of it is read. Links are followed.
Result<std::string> read_regular_file(const std::filesystem::path& path, std::size_t limit);

// Everything from here on, at most `limit` bytes; `path` is for errors.
Result<std::string> read_all(int fd, const std::filesystem::path& path, std::size_t limit);

// A descriptor of a new, empty file to write to, whatever stood at its name: a link or a FIFO there would lead elsewhere, or keep us waiting. -1:
// errno.
int create_new_file(const std::filesystem::path& path);

}  // namespace trainstep
