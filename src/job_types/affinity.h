// job_options.affinity, and on top of it the nodes that the plan has chosen.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/json.h"
#include "plan/plan.h"

namespace trainstep::job_types {

// Whether Kubernetes' own affinity demands other pods on the node. The scheduler takes all such terms for the same pods: another one, of the job's
// own pods, would leave them pending for ever. Any JSON is allowed.
bool stands_beside_others(const Json& affinity);

// `given`: Kubernetes' own affinity, or null. Terms of nodes are alternatives: each of them gets the node. Terms of pods count as they are given.
// What has another form than Kubernetes' stays as it is. → null: none is wanted.
Json affinity_of(const plan::Plan& plan, Json given);

}  // namespace trainstep::job_types
