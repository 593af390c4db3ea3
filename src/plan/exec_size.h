// What the kernel takes of a command line and an environment (execve(2)): a word or variable of more than 128 KiB cannot be passed to any program,
// here or in a pod. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/result.h"

namespace trainstep::plan {

struct Plan;

// MAX_ARG_STRLEN, with the NUL at the end; "NAME=value" counts as one.
inline constexpr std::size_t longest_exec_string = std::size_t{128} << 10U;
// All of them together: a quarter of the usual stack of 8 MiB, less what the container and its operator add.
inline constexpr std::size_t most_exec_bytes = (std::size_t{2} << 20U) - (std::size_t{128} << 10U);

// The program's words and variables. Error (input): names the input that is too large, and what would help; or what command_line says.
Result<void> check_exec_size(const Plan& plan);

}  // namespace trainstep::plan
