// Where the data of a job are, according to the tasks of its pods. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "data/json.h"
#include "plan/plan.h"

namespace trainstep::cluster {

// What the step removes at its end, and what stays if somebody without the credentials of the store deletes the job instead: the addresses of the
// job's own folder and, unless its end was reported, of unfinished data that its pods may have put elsewhere. Empty: nothing goes through a store, or
// all is gone.
std::vector<std::string> data_left_of(const Json& job);

// Whether data that the plan routes through the job's prefix go through another folder, bucket or store in this job.
bool has_data_elsewhere(const Json& job, const plan::Plan& plan);

}  // namespace trainstep::cluster
