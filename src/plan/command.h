// The command line of the training program at one place: in a pod, or in the folder of a local replica. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/binding.h"
#include "spec/program.h"

namespace trainstep::plan {

// Where the program finds and leaves its files, by formal name. Every bound path input and every output has an entry.
struct Placement {
  std::map<std::string, std::string> inputs;   // artifact inputs: local path
  std::map<std::string, std::string> outputs;  // artifacts: the file or folder; values: the file the value is written to
  std::string executor_output_file;            // v2: where executor_main writes its ExecutorOutput
};

// argv: command and args with every placeholder filled in; values as their dialect writes them (value_text.h). An optional input without a value
// gives no word in v1 (as the SDK 1.8 does). Errors (input): an input without a value that the line needs (v2, plain: also an optional one used
// outside IfPresent), a condition that is neither true nor false, a first word that is empty.
Result<std::vector<std::string>> command_line(const spec::Program& program, const Binding& binding, const Placement& placement);

// The ExecutorInput that {{$}} stands for (KFP's pipeline_spec.proto, in proto3 JSON): artifact uris are the local paths, as kfp.local does. Inputs
// left out are absent, so that a Python function's own default counts.
Json executor_input(const spec::Program& program, const Binding& binding, const Placement& placement);

}  // namespace trainstep::plan
