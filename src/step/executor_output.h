// What a KFP v2 launcher reads after the step: values of parameters and metadata of artifacts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "data/json.h"
#include "step/story.h"

namespace trainstep::step {

// ExecutorOutput in the launcher's strict reading: {"parameterValues": {…}, "artifacts": {NAME: {"artifacts": [{"metadata": {…}}]}}}, no other key,
// no null, nothing that is not finite. Metrics stand in the metadata of metrics and mlpipeline_metrics; model_dir says which job made it; metadata
// that the program set on an artifact goes with it and counts more. `parameters`: by output name.
Json executor_output(const Story& story, const std::map<std::string, Json>& parameters);

}  // namespace trainstep::step
