// Whether outputs can be written where they are wanted, asked before a training begins: afterwards it is too late.
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

// Errors: usage (two outputs name one path, or one lies in the other), input (a folder stands where a file is wanted, a file where a folder is, or no
// right to write, a file system that takes no files, names that are too long, a link that leads to nothing). Nothing is made or changed, but for a
// file that is tried and gone at once; a FIFO, or a device like /dev/stdout, is no obstacle for a file.
Result<void> check_targets(const std::vector<OutputTarget>& targets);

// The same of all that the step writes: `record` and `exit_code_file` (empty: none), too; the latter, which is there already, may be anybody's
// descriptor. Error (input): a file that is an input or lies in one, too, or that one of `flags` names as @FILE.
Result<void> check_outputs(const Inputs& inputs, const std::string& record, const std::string& exit_code_file, const Flags& flags = {});

using Paths = std::map<std::string, std::string>;  // what it is → where

// Error (input): the file that `name` wants written at `path` is, or lies in, one of `read`; a descriptor is no such file.
Result<void> check_beside(const std::string& name, const std::string& path, const Paths& read);

// `emptied`: what the run removes before it begins, first what is none of its outputs. Error (input): what the step reads or writes lies there, or
// holds an output of before.
Result<void> check_not_emptied(const Inputs& inputs, const std::vector<std::string>& emptied, const Flags& flags);

// What the model is not to replace: the working directory, the user's home, the step's inputs on this machine, and `others` (what it is → path).
// Error (input): model_dir names one of them, or a folder that holds it.
Result<void> check_model_place(const Inputs& inputs, const std::map<std::string, std::string>& others = {});

// Whether a folder can be made at `path`, or be written into when it exists. `name` begins the error's text.
Result<void> check_folder(std::string_view name, const std::string& path);

// Error (input): what the program may leave without a value, Optional[float], is wanted as a parameter of KFP v2, which must have one.
Result<void> check_parameters(const Inputs& inputs, const plan::Plan& plan);

// Said before the training: model_dir is wanted, but none of the outputs that the program has is bound to it. Nothing: there is no such gap.
std::optional<std::string> unbound_model(const Inputs& inputs, const plan::Plan& plan);

}  // namespace trainstep::step
