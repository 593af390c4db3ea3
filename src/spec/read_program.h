// Parses train_specification into a Program. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

// Recognizes the format by its keys: `implementation` (KFP v1 component), `deploymentSpec` or `pipelineSpec` (KFP v2 IR, one or two documents),
// `image` (image and command). YAML or JSON.
//
// Formal names are those of the component (the function's arguments), not those of a pipeline around it. In an IR, one task of the pipeline is the
// program: `component` selects it by task name, component name or executor label; if it is empty, there must be exactly one. What the task or the
// pipeline's own input sets to a constant becomes the default; what comes from another task must be given in train_parameters. Importers and nested
// pipelines are not programs.
//
// Errors: input, with line and column for syntax errors, otherwise with the key ("train_specification.implementation.container.args[3]: …") and the
// remedy. A file name, the repr of a Python object or a Kubernetes manifest in place of the text is recognized.
Result<Program> read_program(std::string_view text, std::string_view component);

}  // namespace trainstep::spec
