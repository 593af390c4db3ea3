// What the kernel lets this process have.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace trainstep::process {

// Raises the soft limit of open files to `count`, or as near to it as the hard limit lets; it is never lowered. What this process starts inherits it.
// → how many are allowed now.
std::size_t allow_open_files(std::size_t count);

}  // namespace trainstep::process
