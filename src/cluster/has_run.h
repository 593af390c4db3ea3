// Whether a job has ever run, as far as it shows. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/json.h"

namespace trainstep::cluster {

// Suspending a job – a queue gives its place to another – may remove its start time, its pods and most of its status. What remains: pods that have
// ended, conditions of having run, or that it was suspended half a minute or more after it was created – a job that waits from the start is suspended
// at once.
bool has_run(const Json& job);

}  // namespace trainstep::cluster
