// Moves whole outputs from one place to another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace trainstep {

// The error for errno `code` on an output: internal instead of input or not_found, because an output is not a user's input.
Error output_error(std::string_view verb, const std::filesystem::path& path, int code);

// Errors: denied, internal.
Result<void> move_output(const std::filesystem::path& from, const std::filesystem::path& to);

// false: the exchange failed, for example because the file system does not support it.
bool exchange_outputs(const std::filesystem::path& one, const std::filesystem::path& other);

// The entries of a folder that are outputs or parts of one: all except our own folder and lost+found.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

// Errors: denied and input (its contents cannot be removed).
Result<void> empty_place(const std::filesystem::path& place, const std::filesystem::path& target);

}  // namespace trainstep
