// Files and folders that take no change, though their rights would let them: chattr +i, chattr +a.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace trainstep {

// Whether what lies at `path` cannot be replaced by a rename, by its own attributes or those of its folder. Of a file system without such
// attributes: false.
bool is_frozen(const std::filesystem::path& path);

}  // namespace trainstep
