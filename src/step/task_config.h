// KFP's TaskConfig: what the pipeline's author set on the task, for the pods that the step starts (KFP 2.15 and later).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "data/json.h"
#include "plan/request.h"

namespace trainstep::step {

// Puts {affinity, tolerations, nodeSelector, env, volumes, volumeMounts, resources} (Kubernetes' own JSON; null and absent alike) into the request,
// in the words of job_options, or as Kubernetes' own where these do not say all of it: nothing is dropped. What the step's own inputs say counts
// more; tolerations and volumes are added to theirs. Errors (input), by their place: a part of another type or that is not known, a mount without its
// volume, a volume whose name is empty.
Result<void> apply_task_config(const Json& task_config, plan::Request& request);

}  // namespace trainstep::step
