// train_specification → Program. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

// Recognises the format by its keys: `implementation` (KFP v1 component), `deploymentSpec` or `pipelineSpec` (KFP v2 IR, one or two documents),
// `image` (image and command). YAML or JSON. `component` chooses the executor of an IR with several (by executor label, component or task name); empty: there must
// be one. Task inputs that a one-step pipeline sets to constants become defaults.
// Errors: input, with line and column where the text is at fault, else with the key ("implementation.container.args[3]: …") and the remedy.
Result<Program> read_program(std::string_view text, std::string_view component);

}  // namespace trainstep::spec
