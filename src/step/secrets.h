// The secrets that a step knows, for what it writes about itself.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "run/outcome.h"
#include "step/inputs.h"

namespace trainstep::step {

// Of this process's environment, of the parameters and of the variables for the program: the texts to look for.
std::vector<std::string> secrets_of(const std::map<std::string, std::string>& environment, const plan::Request& request);

// Those of the step's inputs and of all that its plan puts into a job: variables, parameters, given or by default, words of the command line. `plan`
// may be null.
std::vector<std::string> secrets_of(const Inputs& inputs, const plan::Plan* plan);

// Whether the number is one of them: it has six characters or more.
bool is_secret(double value, const std::vector<std::string>& secrets);

// How a run ended, without them: the verdict, its last lines of a log included; the program's words also without what stands behind a name that
// sounds secret; no metric of its log whose name or value is one, nor whole numbers of a name that sounds secret ("hf_token=55512345").
void redact(run::Outcome& outcome, const std::vector<std::string>& secrets);

// For somebody who starts a job in a cluster: which variables everybody who may read it can read, though they sound secret; a sentence for each.
std::vector<std::string> secrets_in_clear(const plan::Plan& plan);

}  // namespace trainstep::step
