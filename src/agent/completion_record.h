// The record of a finished training: written last, when everything else is in place. A restarted agent that finds it has nothing left to do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/running_loop.h"
#include "plan/task.h"
#include "result/pod_report.h"
#include "staging/stores.h"

namespace trainstep::agent {

// nullopt: there is no record of this attempt of the job, or an output that it has delivered is no longer there. Credentials without read permission
// find no record. Errors: unavailable, input.
Result<std::optional<result::PodReport>> find_record(RunningLoop& loop, staging::Stores& stores, const plan::Task& task);

// Errors: denied, unavailable, input, internal.
Result<void> write_record(RunningLoop& loop, staging::Stores& stores, const plan::Task& task, const result::PodReport& report);

}  // namespace trainstep::agent
