// Outputs, whole, from one place to another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace trainstep {

// What errno `code` means for an output, which is no input of anybody.
Error output_error(std::string_view verb, const std::filesystem::path& path, int code);

// Errors: denied, internal.
Result<void> move_output(const std::filesystem::path& from, const std::filesystem::path& to);

// False: the file system cannot.
bool exchange_outputs(const std::filesystem::path& one, const std::filesystem::path& other);

// What lies in a folder and is an output, or a part of one: all but our own folder and the file system's.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

// Errors: denied and input (what is there cannot be removed).
Result<void> empty_place(const std::filesystem::path& place, const std::filesystem::path& target);

}  // namespace trainstep
