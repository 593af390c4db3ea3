// train_specification → Program. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

// Recognises the format by its keys: `implementation` (KFP v1 component), `deploymentSpec` or `pipelineSpec` (KFP v2 IR, one or two documents),
// `image` (image and command). YAML or JSON.
//
// Formal names are those of the component (the function's arguments), not those of a pipeline around it. Of an IR, one task of the pipeline is the
// program: `component` chooses it by task name, component name or executor label; empty: there must be one. What the task or the pipeline's own input
// sets to a constant becomes the default; what comes from another task must be given by train_parameters. Importers and nested pipelines are no
// programs.
//
// Errors: input, with line and column where the text is at fault, else with the key ("train_specification.implementation.container.args[3]: …") and
// the remedy. A file name, the print of a Python object or a Kubernetes manifest in place of the text is recognised.
Result<Program> read_program(std::string_view text, std::string_view component);

}  // namespace trainstep::spec
