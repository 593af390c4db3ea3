// KFP v2 IR: what the SDK 2.x compiler writes for a component, or for a pipeline around it. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

// `job`: the IR (`deploymentSpec`, `components`, `root`), or an object with it under `pipelineSpec` and perhaps a `runtimeConfig`. `platform`: the
// second document with `platforms`, or null. Keys we do not know are ignored: the compiler writes new ones with every version. `component` as in
// read_program.h. Errors (input): "train_specification.components.…: …".
Result<Program> read_v2_ir(const Json& job, const Json& platform, const std::string& component);

}  // namespace trainstep::spec
