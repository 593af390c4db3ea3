// train_parameters × Program: which value or which path of the step every formal parameter gets. Pure.
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
  std::string name;              // formal
  std::optional<Json> value;     // a value parameter: as the program's type; absent: left out
  std::optional<StepPath> path;  // a path parameter
  bool given = false;            // by train_parameters, not by a default
};

struct BoundOutput {
  std::string name;              // formal
  std::optional<StepPath> path;  // where the step's caller wants it; absent: outputs/<name> of the run's own place
};

struct Binding {
  std::vector<BoundInput> inputs;    // every formal input that has a value or path, in the program's order
  std::vector<BoundOutput> outputs;  // every formal output, in the program's order
};

// A path parameter's actual value is the name of one of the step's paths. A path parameter (input or output) that train_parameters does not mention
// is bound to the step's path of the same name, if there is one and no other output was given it; model_dir takes no value. null counts as not
// mentioned, as does an empty text of what is no text; a name that is both an input and an output is the input's. Values are converted to the
// declared type when nothing is lost ("3" → 3 for Integer, 2.0 → 2, "true" → true, JSON text → list or object; spec/values.h); v2 makes whole numbers
// integers at any depth, as its backend does. Errors (input): unknown parameter (names the nearest, lists the formals), a required one missing, a
// value that does not fit or is not one of the allowed, a path parameter that names no path of the step (lists them), two outputs to one path, a
// value to model_dir.
Result<Binding> bind(const spec::Program& program, const Request& request);

}  // namespace trainstep::plan
