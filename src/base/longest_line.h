// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace trainstep {

// Of a program's output. A longer line comes in several: each but the last has one byte more than this, and so is known to go on.
inline constexpr std::size_t longest_line = std::size_t{1} << 20U;

}  // namespace trainstep
