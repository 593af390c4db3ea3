// Where the data of a job are, according to the tasks of its pods. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/json.h"
#include "plan/plan.h"

namespace trainstep::cluster {

// What the step removes at its end, and what remains if the job is deleted by a client without the credentials of the store: the addresses of the
// job's own folder and, unless its end was reported, of unfinished data that its pods may have put elsewhere. Empty: nothing goes through a store, or
// all is gone.
std::vector<std::string> data_left_of(const Json& job);

// Whether data that the plan routes through the job's prefix go through another folder, bucket or store in this job.
bool has_data_elsewhere(const Json& job, const plan::Plan& plan);

// How an earlier attempt has routed the data of this job, for an attempt that can no longer read the configuration.
struct EarlierRoute {
  std::optional<plan::JobFolder> folder;            // nullopt: none of them go through one
  std::map<std::string, plan::StoreAccess> stores;  // by the address of an input or output
};
EarlierRoute route_of(const Json& job);

}  // namespace trainstep::cluster
