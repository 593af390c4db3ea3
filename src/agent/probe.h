// Whether the outputs can be delivered, asked before the training: who may not write is to know it before hours have been spent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/running_loop.h"
#include "plan/task.h"
#include "staging/stores.h"

namespace trainstep::agent {

// Where the record is to lie, an empty object comes and goes; that it stays is told, and no error. Each output's place in a store is listed, as its
// delivery does, and an upload is begun and given up there: that takes the right to write (s3:PutObject), and no object appears.
// Errors: denied, unavailable, input, internal.
Result<void> probe(RunningLoop& loop, staging::Stores& stores, const plan::Task& task, const std::function<void(const std::string& line)>& tell);

}  // namespace trainstep::agent
