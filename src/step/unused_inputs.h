// Inputs that nothing uses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace trainstep::step {

// A warning for before the training for each path of the step that was given, but is bound to no parameter of the program.
std::vector<std::string> unused_inputs(const plan::Request& request, const plan::Plan& plan);

}  // namespace trainstep::step
