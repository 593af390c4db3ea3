// The outputs of a run that the step wants somewhere, on their way there (data/pending_output.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/pending_output.h"
#include "local/place.h"
#include "plan/plan.h"

namespace trainstep::local {

using PendingOutputs = std::map<std::string, PendingOutput>;  // by output

// The program does not write to the step's paths: what is there is an earlier model until this one is whole. `place`, the primary's, gets the paths
// to write to. Errors: input (another run has one open, a FIFO is there), those of PendingOutput::open().
Result<PendingOutputs> open_outputs(const plan::Plan& plan, Place& place);

// For people: where the program's files stay, a line for each output; of those without any, nothing.
std::vector<std::string> describe_left(const PendingOutputs& outputs);

// For whoever outlives a run that was killed: removes what it had prepared for outputs and the program has put nothing into; describe_left() of the
// others.
std::vector<std::string> tidy_outputs(const plan::Plan& plan);

}  // namespace trainstep::local
