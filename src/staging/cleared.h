// What does not belong to an input any more, before it is fetched to its place for another time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "objectstore/sync.h"

namespace trainstep::staging {

// At `root`, where an earlier process has fetched the tree of `plan`: removes files that have not changed since and have no object any more, and
// links that a program has put in the place of folders: nothing is to be written where they lead. `root` itself may be a link from the beginning: it
// stays if `seen_through`, the files of the tree were found behind it. What cannot be removed stays. → "removed: …", the first of it, or "".
std::string clear(const std::filesystem::path& root, const objectstore::SyncPlan& plan, bool seen_through);

}  // namespace trainstep::staging
