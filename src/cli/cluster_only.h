// Inputs that only have an effect in a cluster.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "plan/request.h"

namespace trainstep::cli {

// For a run on this machine: names the given inputs that are ignored here, in one sentence for the log; nullopt: there are none. Inputs that must not
// be ignored are refused elsewhere.
std::optional<std::string> without_effect_here(const plan::Request& request);

}  // namespace trainstep::cli
