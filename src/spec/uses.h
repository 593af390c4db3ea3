// Which inputs and outputs a command line names, and how. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/program.h"

namespace trainstep::spec {

struct Uses {
  std::vector<std::string> inputs;   // every name, in the order of its first use
  std::vector<std::string> outputs;  //
  std::set<std::string> values;      // inputs whose value stands in the line
  std::set<std::string> paths;       // inputs whose path or uri stands there
  std::set<std::string> asked;       // inputs that isPresent asks for: they may be left out
  std::set<std::string> returned;    // outputs behind `----output-paths`: returned values of a Python function (v1)
  bool executor_input = false;       // the program reads the whole interface from it
};

// Of command and args.
Uses find_uses(const Program& program);

// Every name is declared, no artifact is used as a value and no value as an input path, every output can be known to the program.
// Error (input): names the input or output, `where` is the place of the container.
Result<void> check_uses(const Program& program, const Uses& uses, const std::string& where);

}  // namespace trainstep::spec
