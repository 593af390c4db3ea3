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

// argv: command and args with every placeholder filled in. v1 and v2 write values differently (bool True/true, lists as JSON; kfp.md §2.3, §4).
// Errors (input): a required input without a value, a specification whose first word is empty.
Result<std::vector<std::string>> command_line(const spec::Program& program, const Binding& binding, const Placement& placement);

// The ExecutorInput that {{$}} stands for (kfp.md §2.1, §3.3): artifact uris are the local paths, as kfp.local does.
Json executor_input(const spec::Program& program, const Binding& binding, const Placement& placement);

}  // namespace trainstep::plan
