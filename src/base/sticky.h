// Folders such as /tmp, where everybody may write and only owners may take away.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace trainstep {

// What lies at the path, a link itself, is another user's in such a folder: rename(2) puts nothing in its place.
bool stays_anothers(const std::filesystem::path& path);

}  // namespace trainstep
