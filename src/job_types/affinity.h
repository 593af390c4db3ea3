// Combines job_options.affinity with the nodes chosen by the plan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/json.h"
#include "plan/plan.h"

namespace trainstep::job_types {

// Whether the given Kubernetes affinity requires other pods on the node. The scheduler requires one pod to match all such terms: another term, for
// the job's own pods, would leave them pending forever. Accepts any JSON.
bool has_pod_affinity(const Json& affinity);

// `given`: a Kubernetes affinity, or null. Node selector terms are alternatives, so the node is added to each of them. Pod affinity terms are not
// changed. Members that do not have Kubernetes' form stay as they are. Returns null if there is no affinity.
Json affinity_of(const plan::Plan& plan, Json given);

}  // namespace trainstep::job_types
