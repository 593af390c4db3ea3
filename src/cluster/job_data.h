// Where the data of a job lie, as the job itself says: in its pods' task. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "data/json.h"
#include "plan/plan.h"

namespace trainstep::cluster {

// What its step removes at its end, and whoever deletes the job in its stead, without the keys to the store, leaves there: addresses of the job's own
// folder, and, unless its end was told, of what its pods may have put elsewhere unfinished. None: nothing of it goes through a store, or all is gone.
std::vector<std::string> data_left_of(const Json& job);

// Whether what the plan has go through the job's prefix goes through another folder, bucket or store in this job.
bool has_data_elsewhere(const Json& job, const plan::Plan& plan);

}  // namespace trainstep::cluster
