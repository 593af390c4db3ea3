// Checks a manifest after job_options.patch was applied. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "data/json.h"

namespace trainstep::job_types {

// Checks that labels, annotations and owners of the object can still be set, and its pods be found: metadata and spec are objects, labels and
// annotations are objects of strings, likewise in every pod template, whose containers are lists of objects; and that there is at least one pod.
// Absent members and null are accepted: the API server knows what is required. Error (input): the first violation, by its location.
Result<void> check_patched(const Json& object);

}  // namespace trainstep::job_types
