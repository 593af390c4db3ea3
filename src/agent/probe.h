// Checks before the training whether the outputs can be delivered: a missing write permission must show before hours have been spent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/running_loop.h"
#include "plan/task.h"
#include "staging/stores.h"

namespace trainstep::agent {

// Creates and removes an empty object next to the record; a failure to remove it is logged, not returned. Lists each output's address
// in a store, as its delivery does, and starts and aborts an upload there: this requires write permission (s3:PutObject), and no object appears.
// Errors: denied, unavailable, input, internal.
Result<void> probe(RunningLoop& loop, staging::Stores& stores, const plan::Task& task, const std::function<void(const std::string& line)>& log);

}  // namespace trainstep::agent
