// The kernel's limits for a command line and an environment (execve(2)): an argument or variable of more than 128 KiB cannot be passed to any
// program, locally or in a pod. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/result.h"

namespace trainstep::plan {

struct Plan;

// MAX_ARG_STRLEN, including the terminating NUL; "NAME=value" is one string.
inline constexpr std::size_t max_exec_string_length = std::size_t{128} << 10U;
// Limit of the total: a quarter of the usual stack size of 8 MiB, minus what the container and its operator add.
inline constexpr std::size_t max_exec_bytes = (std::size_t{2} << 20U) - (std::size_t{128} << 10U);

// Checks the program's arguments and variables. Error (input): names the input that is too large, and what would help; or an error of command_line.
Result<void> check_exec_size(const Plan& plan);

}  // namespace trainstep::plan
