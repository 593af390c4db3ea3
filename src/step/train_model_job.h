// The defaults of the component "Train model job", whose calls component/train-model-job takes as they are (docs/migrate_component.md). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/request.h"

namespace trainstep::step {

// A distributed training has 2 workers, and with TF no parameter servers, unless given otherwise. Defaults that need a cluster – the object store of
// Kubeflow Pipelines, variables, a claim – are applied by the planner: Request::as_train_model_job.
void apply_train_model_job(plan::Request& request);

}  // namespace trainstep::step
