// Checks before the training whether outputs can be written where they are wanted; afterwards it is too late.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "step/inputs.h"

namespace trainstep::step {

// Errors: usage (two outputs have the same path, or one is inside the other), input (a folder where a file is wanted, a file where a folder is, no
// write permission, a file system that does not take files, a name that is too long, a dangling link). Creates nothing but a temporary file, which is
// removed at once; a FIFO or a device like /dev/stdout is acceptable for a file.
Result<void> check_targets(const std::vector<OutputTarget>& targets);

// The same for everything that the step writes, including `record` and `exit_code_file` (empty: none); the latter exists already and may be any
// descriptor. Error (input): a file that is an input, is inside one, or is named by one of `flags` as @FILE.
Result<void> check_outputs(const Inputs& inputs, const std::string& record, const std::string& exit_code_file, const Flags& flags = {});

using Paths = std::map<std::string, std::string>;  // what it is → path

// Error (input): the file `name` at `path` is one of `read`, or inside one; descriptors are exempt.
Result<void> check_beside(const std::string& name, const std::string& path, const Paths& read);

// `emptied`: the folder that the run clears first, except for its outputs. Error (input): something that the step reads or writes is in it, or an
// output of an earlier run.
Result<void> check_not_emptied(const Inputs& inputs, const std::vector<std::string>& emptied, const Flags& flags);

// `own`: a file of the run itself in its folder, followed by its folders there. Error (input): something that the step writes, including `record` and
// `exit_code_file` (empty: none), is in the place of one, or one of them would be inside a file.
Result<void> check_not_of_run(const Inputs& inputs, const std::string& record, const std::string& exit_code_file,
                              const std::vector<std::string>& own);

// What the model must not replace: the working directory, the user's home, the step's inputs on this machine, and `others` (what it is → path). Error
// (input): model_dir is one of them, or a folder that contains one.
Result<void> check_model_place(const Inputs& inputs, const std::map<std::string, std::string>& others = {});

// Whether a folder can be created at `path`, or is writable if it exists. `name` starts the error message.
Result<void> check_folder(std::string_view name, const std::string& path);

// Error (input): a value that the program may omit, Optional[float], is requested as a parameter of KFP v2, which must have a value.
Result<void> check_parameters(const Inputs& inputs, const plan::Plan& plan);

// A warning for before the training: model_dir is requested, but no output of the program is bound to it. nullopt: it is.
std::optional<std::string> unbound_model(const Inputs& inputs, const plan::Plan& plan);

}  // namespace trainstep::step
