// What a KFP v2 launcher reads after the step: values of parameters and metadata of artifacts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "data/json.h"
#include "step/story.h"

namespace trainstep::step {

// The address that the program names for the artifact of a target instead of what it was given; empty: it names none.
std::string own_address(const run::Outcome& outcome, const OutputTarget& target);

// Whether a launcher registers an artifact at `address`, when it has given `target`: what lies in an object store (gs, minio, s3) must lie in the
// run's folder, of which the task's is known here, or the upload of nothing fails; others are recorded as they are (launcher_v2.go, 2.17).
bool registers(const OutputTarget& target, std::string_view address);

// ExecutorOutput in the launcher's strict reading: {"parameterValues": {…}, "artifacts": {NAME: {"artifacts": [{"metadata": {…}, "uri": …}]}}}, no
// other key, no property that is null. NaN and infinity are texts when it is written (data/finite.h), metrics too. Metrics stand in the metadata of
// metrics and mlpipeline_metrics; model_dir says which job made it, and where it is when the program has named an address that registers(); metadata
// that the program set on an artifact goes with it and counts more. `parameters`: by output name, none of them null; what is null inside of them
// stays so.
Json executor_output(const Story& story, const std::map<std::string, Json>& parameters);

}  // namespace trainstep::step
