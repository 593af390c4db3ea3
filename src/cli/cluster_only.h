// What counts in a cluster only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "plan/request.h"

namespace trainstep::cli {

// Of a run on this machine: the inputs that were given and have no effect there, in a sentence for its log; none: there are none. What must have an
// effect is refused elsewhere.
std::optional<std::string> without_effect_here(const plan::Request& request);

}  // namespace trainstep::cli
