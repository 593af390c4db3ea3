// The secrets that a step knows, to keep them out of what it writes about itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "run/outcome.h"
#include "step/inputs.h"

namespace trainstep::step {

// The strings to look for, from this process's environment, the parameters and the variables of the program.
std::vector<std::string> secrets_of(const std::map<std::string, std::string>& environment, const plan::Request& request);

// Those of the step's inputs and of everything that its plan puts into a job: variables, parameters (given or default), words of the command line.
// `plan` may be null.
std::vector<std::string> secrets_of(const Inputs& inputs, const plan::Plan* plan);

// Whether the number is one of them, with at least six characters.
bool is_secret(double value, const std::vector<std::string>& secrets);

// Removes them from how a run ended: from the verdict and its last log lines; from the program's own words also what follows a name that sounds
// secret; from the metrics those whose name is a secret, and those of integers one of which is, or whose name sounds secret ("hf_token=55512345").
// Returns the names of those metrics.
std::vector<std::string> redact(run::Outcome& outcome, const std::vector<std::string>& secrets);

// For a job in a cluster: the variables that sound secret and can be read by anyone who can read the job, one sentence each.
std::vector<std::string> secrets_in_clear(const plan::Plan& plan);

}  // namespace trainstep::step
