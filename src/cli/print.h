// What a command was asked for, on standard output.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace trainstep::cli {

// The exit code: 0, also when the reader (head, less) has had enough; else that of the error, which stands on stderr then.
int print(std::string_view text);

}  // namespace trainstep::cli
