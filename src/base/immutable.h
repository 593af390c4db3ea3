// Files and folders that cannot be changed despite their permissions: chattr +i, chattr +a.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace trainstep {

// Whether the attributes of `path` or of its folder prevent a rename from replacing it. false on file systems without such attributes.
bool is_immutable(const std::filesystem::path& path);

}  // namespace trainstep
