// Files as values: whole reads with a limit, atomic writes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace trainstep {

// The whole file, at most `limit` bytes. Errors: not_found, denied, input (too large, a directory).
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit);

// Writes beside the target, syncs and renames: a reader sees the old content or the new, never a part. Makes parent folders.
Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view content);

Result<void> make_directories(const std::filesystem::path& path);

// What errno `code` means for a file: "cannot read /x: No such file or directory".
Error file_error(std::string_view verb, const std::filesystem::path& path, int code);

}  // namespace trainstep
