// Checks where checkpoints may be in the pods: restoring them overwrites what is there, so the folder must not be used for anything else. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"

namespace trainstep::plan {

struct Plan;

// For a plan whose data have been routed. Error (input): job_options.checkpoint_dir equals, contains or is inside an input or an output of the
// program, as seen by the pods, or Trainstep's own folder there.
Result<void> check_checkpoint_place(const Plan& plan);

}  // namespace trainstep::plan
