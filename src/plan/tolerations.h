// Reads tolerations, as in Kubernetes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "data/json.h"

namespace trainstep::plan {

// Tolerations in Kubernetes' form; null and "" in the list are omitted. `where`: the place of the list. Errors (input): what the API server would
// refuse when the job is created (kubernetes, pkg/apis/core/validation/validation.go, ValidateTolerations), and unknown keys, which it drops.
Result<Json> read_tolerations(const Json& list, const std::string& where);

}  // namespace trainstep::plan
