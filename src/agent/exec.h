// The agent in a training pod: stage in → run the program → stage out → tell the step (docs/data.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/role.h"
#include "base/result.h"
#include "plan/task.h"

namespace trainstep::agent {

struct ExecOptions {
  Role role = Role::primary;
  std::string scratch;            // a folder of this pod that outlives its containers; empty: none
  std::vector<std::string> argv;  // the program; empty: there is none, what is to be staged is staged
  std::string termination_log = "/dev/termination-log";
  int guard = -1;  // readable when nobody ends what we have started if we are killed (process/guard.h); -1: that is never so
};

// → the exit code: the program's; or, when it is not the program that failed, that of the class (README.md, Exit codes).
int exec(const plan::Task& task, const ExecOptions& options);

// Prints the report that a rank has left in `scratch`, or nothing where none has; 1: it cannot be read.
int print_report(const std::string& scratch);

// Puts this very program to `target`, for the pod's other containers. Errors: denied, internal.
Result<void> install(const std::filesystem::path& target);

}  // namespace trainstep::agent
