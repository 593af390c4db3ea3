// Whole-file reads with a size limit, and atomic writes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace trainstep {

// Reads the whole file, at most `limit` bytes. Errors: not_found, denied, input (too large, a directory, a FIFO that no program writes to).
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit);

// Writes to a temporary file next to the target, syncs it and renames it: a reader sees either the old or the new content, never a part. Creates
// parent folders.
Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view content);

// Whether `path` is the folder, or something in it, by their names alone.
bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder);

Result<void> make_directories(const std::filesystem::path& path);

// The error for errno `code` on a file: "cannot read /x: No such file or directory".
Error file_error(std::string_view verb, const std::filesystem::path& path, int code);

}  // namespace trainstep
