// KFP's TaskConfig: what the author of the pipeline set on the task, for the pods that the step starts (since KFP 2.15).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "data/json.h"
#include "plan/request.h"

namespace trainstep::step {

// Puts {affinity, tolerations, nodeSelector, env, volumes, volumeMounts, resources} (the JSON of Kubernetes; null means absent) into the request, as
// job_options, or in the form of Kubernetes where job_options cannot express it: nothing is dropped. The step's own inputs take precedence;
// tolerations and volumes are added to theirs. Errors (input), with their position: a member of another type, an unknown member, a mount without its
// volume, a volume without a name.
Result<void> apply_task_config(const Json& task_config, plan::Request& request);

}  // namespace trainstep::step
