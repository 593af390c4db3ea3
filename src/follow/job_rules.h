// What the state machine of a job in a cluster has to know before it runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "base/time.h"

namespace trainstep::follow {

struct JobRules {
  std::string job;  // "pytorchjobs/train-1", for messages
  // v1 operators do not enforce the limit (docs/design/operators.md, Limits): failures are counted here, unless JobFound says otherwise.
  bool restarts_are_ours = false;
  std::size_t needed = 0;               // this many replicas must be scheduled for the job to run; 0: all
  std::string on_eviction = "default";  // job_options.on_eviction
  std::string run{};                    // its id, for messages
  bool never_removed = false;           // job_options.cleanup: never – except on a cancel
  bool at_shell = false;                // a person waits at a terminal, and a second signal means impatience
  // No status, no pods and no event for this long: no controller handles such jobs; operators restart within minutes.
  Duration operator_absent{600'000};
  Duration settle{5'000};      // how much later than the job the pods may end
  Duration log_end{300'000};   // how long the rest of the logs may take after the end of the job
  bool is_observer = false;    // the job belongs to another step (attach): no limits apply, and it is never changed
  Duration deletion{600'000};  // how long the deletion of a job by another client may take
};

}  // namespace trainstep::follow
