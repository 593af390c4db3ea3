// Resource limits of this process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace trainstep::process {

// Raises the soft limit of open files to `count`, or as close to it as the hard limit allows; never lowers it. Child processes inherit it. Returns
// the resulting limit.
std::size_t allow_open_files(std::size_t count);

}  // namespace trainstep::process
