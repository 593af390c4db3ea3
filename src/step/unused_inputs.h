// Inputs and options that nothing uses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace trainstep::step {

// A warning for before the training for each path of the step that was given, but is bound to no parameter of the program; for job_options.component
// without a pipeline; for replicas in job_options.logs that only other job types have.
std::vector<std::string> unused_inputs(const plan::Request& request, const plan::Plan& plan);

}  // namespace trainstep::step
