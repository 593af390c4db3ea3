// Reads the inputs and outputs of a KFP v2 component, and what the enclosing pipeline sets. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "spec/program.h"
#include "spec/v2_choice.h"

namespace trainstep::spec {

// Sets inputs and outputs. A default is, in this order, the task's constant, the default of the pipeline input passed to it, or the component's
// default. An input that comes from another task, or a constant known only to a KFP backend ({{$.pipeline_job_name}}), is required. `root`: the IR's
// root; `values`: runtimeConfig.parameterValues, or null. TASK_CONFIG inputs are {} by default, because nothing fills them in here. Errors (input):
// unknown types, TASK_FINAL_STATUS, a default that does not fit.
Result<void> read_v2_interface(const Choice& choice, const Json& root, const Json* values, Program& program);

}  // namespace trainstep::spec
