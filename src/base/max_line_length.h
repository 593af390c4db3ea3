// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace trainstep {

// Longest line of a program's output, in bytes. A longer line is split: every part but the last is one byte longer than this, which marks it as
// continued.
inline constexpr std::size_t max_line_length = std::size_t{1} << 20U;

}  // namespace trainstep
