// `trainstep replay FILE`: the log and the verdict of a recorded run, offline.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "log/level.h"

namespace trainstep::cli {

// Returns the exit code of the recorded run, or 2 if the file is not a record.
int run_replay(const std::string& path, log::Options options);

}  // namespace trainstep::cli
