// Which data of the program can reach its pods and come back. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "plan/plan.h"

namespace trainstep::cluster {

// A file of the step is not carried into the pods, nor a file of the pods to the step: programs read and write volumes (job_options.volumes) or
// addresses that they get as text. Asked before anything is created, as a training whose model is lost has cost for nothing.
// Error (input): names the parameter and the way out.
Result<void> check_routes(const plan::Plan& plan);

// A line for the story, when the program has outputs that nobody asked for: where they are; empty: it has none.
std::string unfetched_outputs(const plan::Plan& plan);

}  // namespace trainstep::cluster
