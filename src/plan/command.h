// Renders the command line of the training program for one placement: in a pod, or in the folder of a local replica. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/binding.h"
#include "spec/program.h"

namespace trainstep::plan {

// Where the program's files are, by formal name. Every bound path input and every output has an entry.
struct Placement {
  std::map<std::string, std::string> inputs;   // artifact inputs: local path
  std::map<std::string, std::string> outputs;  // artifacts: the file or folder; values: the file to which the value is written
  std::string executor_output_file;            // v2: where executor_main writes its ExecutorOutput
};

// The argv: command and args with all placeholders replaced; values are written according to the dialect (value_text.h). An optional input without a
// value yields no argument in v1 (as in the SDK 1.8). Errors (input): an input without a value that the command line needs (v2, plain: including an
// optional one used outside IfPresent), a condition that is neither true nor false, an empty first argument.
Result<std::vector<std::string>> command_line(const spec::Program& program, const Binding& binding, const Placement& placement);

// The ExecutorInput that replaces {{$}} (KFP's pipeline_spec.proto, in proto3 JSON): artifact uris are the local paths, as in kfp.local. Omitted
// inputs are absent, so that a Python function uses its own default.
Json executor_input(const spec::Program& program, const Binding& binding, const Placement& placement);

}  // namespace trainstep::plan
