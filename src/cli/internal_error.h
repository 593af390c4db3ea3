// An uncaught exception: a bug, or lack of memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string_view>

namespace trainstep::cli {

// Reports it on stderr and, for a step (run) or a replica (exec), in the container's termination message. Returns the exit code; never throws.
int report_internal_error(std::string_view command, const std::exception& exception) noexcept;

}  // namespace trainstep::cli
