// What the launcher of KFP v2 reads after the step: values of parameters and metadata of artifacts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "data/json.h"
#include "step/step_summary.h"

namespace trainstep::step {

// The address that the program gives for the artifact of a target, if it is another than the one it was given; empty otherwise.
std::string own_address(const run::Outcome& outcome, const OutputTarget& target);

// Whether the launcher registers an artifact at `address` when it has given `target`: an address in an object store (gs, minio, s3) must be in the
// folder of the run, of which only the task's is known here, because otherwise the launcher uploads nothing and fails; other addresses are recorded
// as they are (launcher_v2.go, 2.17).
bool registers(const OutputTarget& target, std::string_view address);

// The ExecutorOutput in the form that the launcher requires: {"parameterValues": {…}, "artifacts": {NAME: {"artifacts": [{"metadata": {…}, "uri":
// …}]}}}, no other key, no property that is null. NaN and infinity are written as strings (data/finite.h), in metrics too. Metrics are metadata of
// metrics and mlpipeline_metrics; model_dir names the job that made it, and its location if the program has given an address that registers()
// accepts; metadata that the program set on an artifact is included and takes precedence. `parameters`: by output name, none of them null; nulls
// inside of them are kept.
Json executor_output(const StepSummary& summary, const std::map<std::string, Json>& parameters);

}  // namespace trainstep::step
