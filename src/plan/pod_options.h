// What job_options say of pods: of all, and again of those of one type. Private to the module.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/fields.h"
#include "plan/options.h"

namespace trainstep::plan {

// Every key of PodOptions but `image`; `fields` may hold others besides, which the caller reads. Mistakes go to `fields`. What comes out is in one
// form: no member is empty or null, booleans are booleans, numbers that Kubernetes wants as texts are texts.
PodOptions read_pod_options(Fields& fields);

// Error (input): no name of a variable. `where` is where it stands.
Result<void> check_variable_name(std::string_view name, std::string_view where);

}  // namespace trainstep::plan
