// Binds train_parameters to the formal parameters of a Program: each gets a value, or one of the step's paths. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/request.h"
#include "spec/program.h"

namespace trainstep::plan {

struct BoundInput {
  std::string name;              // formal name
  std::optional<Json> value;     // for a value parameter: of the program's type; absent: omitted
  std::optional<StepPath> path;  // for a path parameter
  bool given = false;            // in train_parameters, not by a default
};

struct BoundOutput {
  std::string name;              // formal name
  std::optional<StepPath> path;  // requested by the step's caller; absent: outputs/<name> in the run's own folder
};

struct Binding {
  std::vector<BoundInput> inputs;    // all formal inputs that have a value or path, in the program's order
  std::vector<BoundOutput> outputs;  // all formal outputs, in the program's order
};

// The actual value of a path parameter is the name of one of the step's paths. A path parameter (input or output) that is not in train_parameters is
// bound to the step's path of the same name, if there is one and it was not given to another output; a value output cannot be written to model_dir.
// null counts as not given, as does an empty string for a type other than string; if a name is both an input and an output, it means the input.
// Values are converted to the declared type if that is lossless ("3" → 3 for Integer, 2.0 → 2, "true" → true, JSON text → list or object;
// spec/values.h); v2 converts integral numbers to integers at any depth, as its backend does. Errors (input): an unknown parameter (names the
// nearest, lists the formal ones), a required one missing, a value that does not fit or is not among the allowed ones, a path parameter that does not
// name a path of the step (lists them), two outputs to one path, a value output to model_dir.
Result<Binding> bind(const spec::Program& program, const Request& request);

}  // namespace trainstep::plan
