// Where checkpoints may lie in the pods: what was saved is brought back over what lies there, so it must be nothing else's place. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"

namespace trainstep::plan {

struct Plan;

// Of a plan whose data have been routed. Error (input): job_options.checkpoint_dir equals, holds or lies in an input or an output of the program as
// the pods see it, or this program's own folder there.
Result<void> check_checkpoint_place(const Plan& plan);

}  // namespace trainstep::plan
