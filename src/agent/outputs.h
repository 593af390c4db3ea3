// What the program left at the paths of its task's outputs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/footprint.h"
#include "plan/task.h"
#include "result/pod_report.h"

namespace trainstep::agent {

// Makes the folders that the program may expect, in the primary those that lead to a claim, and removes values of an earlier attempt in this pod.
// Returns what stood at each output's path before. Errors: denied, internal.
using Footprints = std::map<std::string, Footprint>;  // by output name
Result<Footprints> prepare_outputs(const plan::Task& task, bool primary);

// Errors (input): a value that was not written or does not fit its type, an executor output that is no JSON.
Result<std::vector<result::ReportedOutput>> read_outputs(const plan::Task& task, const Footprints& before);

}  // namespace trainstep::agent
