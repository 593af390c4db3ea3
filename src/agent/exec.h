// The agent in a training pod: stage in → run the program → stage out → report to the step (docs/data.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "agent/role.h"
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

}  // namespace trainstep::agent
