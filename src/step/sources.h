// Whether inputs are what a program can be given: files and folders, asked before anything starts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/result.h"
#include "plan/request.h"

namespace trainstep::step {

// Error (input): a path that leads to a descriptor of this process (/dev/stdin, what a shell makes of <(COMMAND)) or to another thing that is this
// process's own (/proc/self/cwd), which are other things in the program; or to a FIFO, a socket or a device, which is read once at most. What is not
// there, or may not be looked at, is no error here.
Result<void> check_sources(const std::vector<plan::StepPath>& inputs);

}  // namespace trainstep::step
