// Outputs of a run that have a path of the step, before they are moved there (data/pending_output.h).
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

using PendingOutputs = std::map<std::string, PendingOutput>;  // by output name

// The program does not write to the step's paths: they may hold an earlier model until this one is complete. `place`, the primary's, gets the paths
// to write to. Errors: input (another run has one open, a FIFO is there), those of PendingOutput::open().
Result<PendingOutputs> open_outputs(const plan::Plan& plan, Place& place);

// For messages: where the program's files remain, one line for each output that has any.
std::vector<std::string> describe_left(const PendingOutputs& outputs);

// Cleans up after a run that was killed: removes what it had prepared for outputs if the program has written nothing there; returns describe_left()
// of the others.
std::vector<std::string> tidy_outputs(const plan::Plan& plan);

}  // namespace trainstep::local
