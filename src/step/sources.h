// Checks before anything starts that inputs are files and folders that can be given to a program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/result.h"
#include "plan/request.h"

namespace trainstep::step {

// Error (input): a path to a descriptor of this process (/dev/stdin, or what a shell makes of <(COMMAND)) or to something else that belongs to this
// process (/proc/self/cwd), which would be something else in the program; or to a FIFO, a socket or a device, which can be read at most once. A
// missing or unreadable file is not an error here.
Result<void> check_sources(const std::vector<plan::StepPath>& inputs);

}  // namespace trainstep::step
