// Inputs and outputs of a KFP v2 component, with what the pipeline around it sets. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "spec/program.h"
#include "spec/v2_choice.h"

namespace trainstep::spec {

// Fills inputs and outputs. A default comes, in this order, from the task's constant, from the default of the pipeline's input that feeds it, from
// the component. An input that another task feeds, or a constant only a KFP backend knows ({{$.pipeline_job_name}}), is required. `root`: the IR's
// root; `values`: runtimeConfig.parameterValues, or null. TASK_CONFIG inputs are {} by default: nobody fills them in here. Errors (input): unknown
// types, TASK_FINAL_STATUS, a default that does not fit.
Result<void> read_v2_interface(const Choice& choice, const Json& root, const Json* values, Program& program);

}  // namespace trainstep::spec
