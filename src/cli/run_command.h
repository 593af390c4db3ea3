// `trainstep run`, here or in a cluster.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/step_command.h"

namespace trainstep::cli {

// Both return the exit code.
int run_locally(const StepCommand& command, const step::Inputs& inputs);
int run_in_cluster(const StepCommand& command, const step::Inputs& inputs);

}  // namespace trainstep::cli
