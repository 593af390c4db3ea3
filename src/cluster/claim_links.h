// Links in folders on a claim that the pods read. In the pods the claim is mounted at another path than in the step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace trainstep::cluster {

// For each such input of a routed plan: a warning about the first link at its top level that points out of the claim, or is absolute, because in the
// pods it points elsewhere or nowhere. Reads some thousand names of a large folder, and no subfolders: it must cost nothing.
std::vector<std::string> links_astray(const plan::Plan& plan);

}  // namespace trainstep::cluster
