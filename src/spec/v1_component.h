// A component text of the KFP SDK 1.8: what func_to_component_text writes, or written by hand. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

// `document` has the key `implementation`. Unknown keys are refused. `command` must be there: an image's own entry point cannot be known; fileOutputs
// (fixed paths) and graph components are refused. Errors (input): "train_specification.implementation.container.args[3]: …".
Result<Program> read_v1_component(const Json& document);

}  // namespace trainstep::spec
