// Removes what no longer belongs to an input, before it is fetched again to the same path.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "objectstore/sync.h"

namespace trainstep::staging {

// In `root`, to which an earlier process has fetched the tree of `plan`: removes files that have not changed since then and no longer exist in the
// store, and links that a program has put in place of folders, so that nothing is written to their targets. `root` itself may have been a link from
// the start: it stays if `seen_through`, that is, if the tree's files were found behind it. What cannot be removed stays. Returns "removed: …" with
// the first few items, or "".
std::string clear(const std::filesystem::path& root, const objectstore::SyncPlan& plan, bool seen_through);

}  // namespace trainstep::staging
