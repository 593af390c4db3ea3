// The hidden folder beside an output in which it is written (pending_output.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <utility>

#include "base/fd.h"
#include "base/file_lock.h"
#include "base/result.h"

namespace trainstep {

// Makes the folder, and keeps others away from it for as long as both are kept. Errors: conflict (another one has), those of
// make_directories().
Result<std::pair<Fd, FileLock>> lock_folder(const std::filesystem::path& folder, const std::filesystem::path& target);

// Where the folder that is held is now, if it, or one above it, was renamed; empty: it is where it was, or was removed.
std::filesystem::path moved_folder(const Fd& held_folder, const std::filesystem::path& folder);

// Whether the folder that is held was removed, whatever lies at its path now.
bool was_removed(const Fd& held_folder);

// Removes it if nothing with content is in it; what a commit has noted there stays.
void tidy_folder(const std::filesystem::path& folder);

}  // namespace trainstep
