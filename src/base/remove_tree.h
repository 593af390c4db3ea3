// Removing what programs have written, and nothing else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/result.h"

namespace trainstep {

// Removes `path` and all that is below it; what is not there is removed already. Never leaves the mount that the folder of `path` belongs to: what is
// mounted at `path` or below it – another bucket, the same disk once more –, stays with the folders above it. No link is followed, whoever swaps
// names meanwhile. Folders of our user are given the rights that it takes. Goes on where something stays. Errors: denied, internal (mounted, moved
// meanwhile, not empty again); the message names what stays, and why.
Result<void> remove_tree(const std::filesystem::path& path);

}  // namespace trainstep
