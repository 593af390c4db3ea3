// Finds which inputs and outputs a command line names, and how it uses them. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

struct Uses {
  std::vector<std::string> inputs;   // all names, in order of first use
  std::vector<std::string> outputs;  //
  std::set<std::string> values;      // inputs whose value is used
  std::set<std::string> paths;       // inputs whose path or uri is used
  std::set<std::string> asked;       // inputs tested by isPresent: they may be omitted
  std::set<std::string> returned;    // outputs after `----output-paths`: returned values of a Python function (v1)
  bool executor_input = false;       // the program reads the complete interface from it
};

// In command, args and variables.
Uses find_uses(const Program& program);

// Checks that every name is declared, that no artifact is used as a value and no value as an input path, and that the program can learn of every
// output.
// Error (input): names the input or output; `where` is the location of the container.
Result<void> check_uses(const Program& program, const Uses& uses, const std::string& where);

}  // namespace trainstep::spec
