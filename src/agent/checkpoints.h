// Checkpoints of the program (job_options.checkpoint_dir): restored before it starts again – in a new container, a new pod, or a new attempt of the
// whole job. CheckpointSync saves them to the job's prefix while it runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/running_loop.h"
#include "plan/task.h"
#include "staging/stores.h"

namespace trainstep::agent {

using Log = std::function<void(const std::string& line)>;

// Exists in the folder while it is being filled. On a volume that outlives the pod, it shows the next pod that the contents are incomplete.
inline constexpr std::string_view restoring_mark = ".trainstep-restoring";

// Whether this pod has checkpoints from an earlier container, and all of them.
bool has_checkpoints(const plan::TaskCheckpoints& checkpoints);

// Fetches the newest complete set, with its links and the modification times of files and folders; it is not an error if there is none. Existing
// contents stay if they are on a volume – they outlived their pod, or another pod has fetched them –, unless a pod was ended while it filled the
// folder. Errors: as staging::Fetching; denied if the folder is not writable.
Result<void> restore_checkpoints(RunningLoop& loop, staging::Stores& stores, const plan::TaskCheckpoints& checkpoints, const Log& log);

}  // namespace trainstep::agent
