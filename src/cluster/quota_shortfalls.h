// Whether a namespace's quotas have room for a job. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "data/json.h"
#include "job_types/job_type.h"

namespace trainstep::cluster {

// A sentence for each limit of a ResourceQuota that the job's replicas would exceed with what is used now: "quota team: requests.cpu: 24 are needed,
// 8 of 32 are left", in cores, bytes or pieces. `quotas`: a ResourceQuotaList; any JSON is allowed. A scoped quota is read as if it held for all
// pods. `gpu_resource`: what the replicas' GPUs are called, "nvidia.com/gpu".
std::vector<std::string> quota_shortfalls(const Json& quotas, const std::vector<job_types::Replicas>& replicas, const std::string& gpu_resource);

}  // namespace trainstep::cluster
