// Variables that belong to a step, or to a distributed run: what runs in them must not take those of another one around it for its own. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace trainstep::plan {

// Whether a step, an operator or a launcher sets this variable for the program: TRAINSTEP_MODEL_DIR, RANK, PMIX_…. Neither a local gang inherits it
// from the step's environment, nor does a pattern of job_options.pass_environment include it.
bool belongs_to_step(std::string_view name);

}  // namespace trainstep::plan
