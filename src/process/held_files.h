// Files that a process may still change: open for writing, or mapped writable (mmap(2), MAP_SHARED); their times need not show such a change.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "process/descendants.h"

namespace trainstep::process {

// Absolute paths, without links; sorted. None for processes that have ended or may not be inspected.
std::vector<std::string> files_held_for_writing(const std::vector<Process>& processes);

// The first of these files that is `place` or below it; empty: none.
std::string first_below(const std::vector<std::string>& files, const std::filesystem::path& place);

}  // namespace trainstep::process
