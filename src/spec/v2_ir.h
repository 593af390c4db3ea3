// Reads KFP v2 IR: the output of the SDK 2.x compiler for a component, or for a pipeline. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

// `job`: the IR (`deploymentSpec`, `components`, `root`), or an object that has it under `pipelineSpec`, with an optional `runtimeConfig`.
// `platform`: the second document, with `platforms`, or null. Unknown keys are ignored: each version of the compiler adds new ones. `component` as in
// read_program.h. Errors (input): "train_specification.components.…: …".
Result<Program> read_v2_ir(const Json& job, const Json& platform, const std::string& component);

}  // namespace trainstep::spec
