// What a program saves on its way (job_options.checkpoint_dir): brought to the job's prefix while it runs, and back before it begins again – in a new
// container, a new pod, or a new attempt of the whole job.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/running_loop.h"
#include "objectstore/transfer.h"
#include "plan/task.h"
#include "staging/stores.h"

namespace trainstep::agent {

using Tell = std::function<void(const std::string& line)>;

// Whether there are any in this pod, from the container before.
bool has_checkpoints(const plan::TaskCheckpoints& checkpoints);

// Fetches what lies there, over what is here; that nothing does is no error. Errors: as staging::Fetching.
Result<void> restore_checkpoints(RunningLoop& loop, staging::Stores& stores, const plan::TaskCheckpoints& checkpoints, const Tell& tell);

// Looks at the folder now and then, and sends what is new or has changed, one file after another: a file that is being written holds up no other.
// What fails is told and tried again at the next look: a training does not end because of a checkpoint.
class CheckpointSync {
 public:
  // References must outlive it. Begins at once.
  CheckpointSync(RunningLoop& loop, staging::Stores& stores, const plan::TaskCheckpoints& checkpoints, Tell tell,
                 Duration between_looks = Duration(15'000));
  CheckpointSync(const CheckpointSync&) = delete;
  CheckpointSync& operator=(const CheckpointSync&) = delete;
  ~CheckpointSync();

  // The program has ended: one last look, at most `limit` long; the loop runs meanwhile.
  void finish(Duration limit);

 private:
  void look();
  void next();
  void sent(const Result<void>& result);

  RunningLoop& m_loop;
  staging::Stores& m_stores;
  const plan::TaskCheckpoints& m_checkpoints;
  Tell m_tell;
  Duration m_between_looks;
  objectstore::KnownFiles m_known;  // what is there, of this process's sending
  std::unique_ptr<objectstore::Transfer> m_transfer;
  std::vector<objectstore::Travel> m_left;  // of this look
  std::function<void()> m_done;             // of the last look; empty: others follow
  Loop::TimerId m_timer = 0;
};

}  // namespace trainstep::agent
