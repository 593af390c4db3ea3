// Whether the quotas of a namespace have room for a job. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/json.h"
#include "job_types/job_type.h"
#include "plan/plan.h"

namespace trainstep::cluster {

// In cores, bytes or pieces, by the names of quotas (kubernetes.io/docs/concepts/policy/resource-quotas): {"requests.cpu", 24}.
using QuotaNeeds = std::map<std::string, double>;

// Adds objects of a resource: "services" of the core API group, "jobs.batch".
void add_objects(QuotaNeeds& needs, const std::string& resource, int count = 1);
// Adds a claim of this size.
void add_claim(QuotaNeeds& needs, const std::string& size);
// The pods of a job, and what its operator creates besides. `resource`: the one that is served.
QuotaNeeds needs_of_pods(const plan::Plan& plan, const job_types::Resource& resource);

// A sentence for each limit of a ResourceQuota that `needs` would exceed with what is used now: "quota team: requests.cpu: requested 24, 8 of 32
// left". `quotas`: a ResourceQuotaList; any JSON is allowed. A scoped quota is treated as if it applied to all pods.
std::vector<std::string> quota_shortfalls(const Json& quotas, const QuotaNeeds& needs);

}  // namespace trainstep::cluster
