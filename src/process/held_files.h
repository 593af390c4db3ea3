// Files that a process may still change: open for writing, or mapped so (mmap(2), MAP_SHARED), when their times need not even show it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "process/descendants.h"

namespace trainstep::process {

// Absolute paths, without links; sorted. Of a process that has ended, or that may not be looked at: none.
std::vector<std::string> files_held_for_writing(const std::vector<Process>& processes);

// The first of these files that is `place` or lies below it; empty: none.
std::string first_below(const std::vector<std::string>& files, const std::filesystem::path& place);

}  // namespace trainstep::process
