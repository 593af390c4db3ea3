// Folders with the sticky bit, such as /tmp, where all users may write but only owners may remove or rename entries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace trainstep {

// Whether the path (not followed if it is a link) belongs to another user in such a folder, so that rename(2) cannot replace it.
bool is_in_sticky_folder_of_other_user(const std::filesystem::path& path);

}  // namespace trainstep
