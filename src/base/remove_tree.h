// Removes what programs have written, and nothing else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/result.h"

namespace trainstep {

// Removes `path` and everything below it; a path that does not exist is not an error. Never leaves the mount of the parent folder: a mount at `path`
// or below it (another bucket, the same disk again) is kept, with the folders above it. Never follows a link, even if entries are swapped
// concurrently. Adds missing owner permissions to folders of our user. Continues after an entry that cannot be removed. Errors: denied, internal (a
// mount, moved concurrently, not empty again); the message names what is left, and why.
Result<void> remove_tree(const std::filesystem::path& path);

}  // namespace trainstep
