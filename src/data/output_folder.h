// The hidden folder next to an output in which the output is written (pending_output.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/file_lock.h"
#include "base/result.h"

namespace trainstep {

// Creates the folder and locks it for as long as both returned values live. Errors: conflict (another process holds the lock), input (the folder is a
// symbolic link), those of make_directories().
Result<std::pair<Fd, FileLock>> lock_folder(const std::filesystem::path& folder, const std::filesystem::path& target);

// Why it cannot be known whether something is at a path: "cannot read /a/b: Permission denied", also for a folder above it; empty: it can.
std::string why_hidden(const std::filesystem::path& path);

// The current path of the held folder if it, or one above it, was renamed; empty: it was not moved, or was removed.
// Only meaningful if its path is not hidden.
std::filesystem::path moved_folder(const Fd& held_folder, const std::filesystem::path& folder);

// Whether the held folder was removed, whatever exists at its path now.
bool was_removed(const Fd& held_folder);

// Where the held folder is now: at its path, or where it was moved to. Empty: it was removed, or that is unknown.
std::filesystem::path held_place(const Fd& held_folder, const std::filesystem::path& folder);

// Removes the held folder, wherever it is now, if it holds no pending output with content; notes of a commit are kept. What is at its path instead is
// not touched.
void tidy_folder(const Fd& held_folder, const std::filesystem::path& folder);

}  // namespace trainstep
