// Parses the settings of pods in job_options: for all, and for one replica type. Private to the module.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/fields.h"
#include "plan/options.h"

namespace trainstep::plan {

// Reads every key of PodOptions except `image`; other keys in `fields` are left to the caller. Errors are added to `fields`. The result is
// normalized: no member is empty or null, booleans are booleans, numbers that Kubernetes expects as strings are strings.
PodOptions read_pod_options(Fields& fields);

// Error (input): not a valid variable name. `where`: its location.
Result<void> check_variable_name(std::string_view name, std::string_view where);

}  // namespace trainstep::plan
