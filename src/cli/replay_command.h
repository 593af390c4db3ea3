// `trainstep replay FILE`: the story and the verdict of a recorded run, offline.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "log/level.h"

namespace trainstep::cli {

// The exit code is the recorded run's; 2 when the file is no record.
int run_replay(const std::string& path, log::Options options);

}  // namespace trainstep::cli
