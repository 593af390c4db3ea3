// A manifest after job_options.patch. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "data/json.h"

namespace trainstep::job_types {

// Whether the object still has the form in which labels, annotations and owners can be set, and its pods be found: metadata and spec are objects,
// labels and annotations are objects of texts, the same of every pod template, whose containers are lists of objects – and whether there are to be
// any pods. What is absent or null is let
// be: the API server knows what it needs. Error (input): the first that is not, by its place.
Result<void> check_patched(const Json& object);

}  // namespace trainstep::job_types
