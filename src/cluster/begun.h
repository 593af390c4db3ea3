// Whether a job has ever run, by what it shows whoever finds it. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/json.h"

namespace trainstep::cluster {

// Who suspends a job – a queue that gives its place to another – may take its start time, its pods and most of its status away. What is left: pods
// that have ended, conditions of its having run, or that it became suspended half a minute or more after it was made – what waits from the beginning
// is suspended at once.
bool has_run(const Json& job);

}  // namespace trainstep::cluster
