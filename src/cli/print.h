// Prints the result of a command on standard output.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace trainstep::cli {

// Returns the exit code: 0, also if the reader (head, less) has closed the pipe; otherwise that of the error, which is printed on stderr.
int print(std::string_view text);

}  // namespace trainstep::cli
