// Whether the quotas of a namespace have room for a job. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "data/json.h"
#include "job_types/job_type.h"

namespace trainstep::cluster {

// A sentence for each limit of a ResourceQuota that the replicas of the job would exceed with what is used now: "quota team: requests.cpu: 24 are
// needed, 8 of 32 are left", in cores, bytes or pieces. `quotas`: a ResourceQuotaList; any JSON is allowed. A scoped quota is treated as if it
// applied to all pods. `gpu_resource`: the resource name of the GPUs, "nvidia.com/gpu".
std::vector<std::string> quota_shortfalls(const Json& quotas, const std::vector<job_types::Replicas>& replicas, const std::string& gpu_resource);

}  // namespace trainstep::cluster
