// Links in folders that the pods read on a claim. The pods have the claim mounted at another place than the step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace trainstep::cluster {

// For each such input of a routed plan what is to be said of the first link at its top that leads out of the claim, or is absolute: in the pods it
// leads somewhere else, or nowhere. Of a large folder some thousand names are looked at, of deeper ones none: it must cost nothing.
std::vector<std::string> links_astray(const plan::Plan& plan);

}  // namespace trainstep::cluster
