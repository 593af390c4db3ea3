// The agent in a training pod: stage in → run the program → stage out → report to the step (docs/data.md).
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
  std::vector<std::string> argv;  // the program; empty: there is none, only stage
  std::string termination_log = "/dev/termination-log";
  int guard = -1;  // readable once nothing would end our processes if we were killed (process/guard.h); -1: never
};

// Returns the exit code: the program's or, if something else failed, that of the verdict class (README.md, Exit codes).
int exec(const plan::Task& task, const ExecOptions& options);

// Prints the report that a rank has left in `scratch`, or nothing if there is none. Returns 1 if it cannot be read.
int print_report(const std::string& scratch);

// Copies this program to `target`, for the pod's other containers. Errors: denied, internal.
Result<void> install(const std::filesystem::path& target);

}  // namespace trainstep::agent
