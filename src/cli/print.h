// Prints the result of a command on standard output.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string_view>

namespace trainstep::cli {

inline constexpr std::chrono::hours for_ever{24 * 365};  // a person with a pager may take time; there is nothing to stop

// Returns the exit code: 0, also if the reader (head, less) has closed the pipe; otherwise that of the error, which is printed on stderr.
int print(std::string_view text);

}  // namespace trainstep::cli
