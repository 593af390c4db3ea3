// Reads {"image": …, "command": […], "args": […], "env"?, "inputs"?, "outputs"?, "name"?}: a training program in any image. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

// `command` and `args` may contain the placeholders of v1 ({"inputValue": "epochs"}) and of v2 ("--epochs={{$.inputs.parameters['epochs']}}"). Inputs
// and outputs that they name need not be declared: they are values of any type (optional if tested by isPresent) or artifacts. Declarations are those
// of a v1 component, or just names. `env`: name → value, a path of the program ({"outputPath": "model"}) or Kubernetes' list of
// {name, value}. Unknown keys are errors.
// Errors (input): "train_specification.args[3]: …".
Result<Program> read_plain(const Json& document);

}  // namespace trainstep::spec
