// trainstep exec: the agent in a training pod.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace trainstep::cli {

struct ExecCommand {
  std::string task;               // a file; empty: $TRAINSTEP_TASK
  std::string role = "primary";   // agent::role_of
  std::string scratch;            // agent::ExecOptions
  std::string install;            // only install this program there
  bool report = false;            // only print what a rank has left in `scratch`
  std::vector<std::string> argv;  // the program, as given after `--`
};

// Returns the exit code: that of the program, or of what failed around it.
int run_exec(const ExecCommand& command);

}  // namespace trainstep::cli
