// The timers of a followed job. Their numbers are part of a record.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trainstep::follow {

struct JobTimer {
  // limit_phase + n belongs to phase n.
  enum Number : int {
    limit_total,
    operator_absent,
    pending_over,
    settle_over,
    logs_over,
    heartbeat,
    limit_phase,
    waits_beside = 100,
    deletion_over,
    unexplained,
    scheduler_silent,
    pods_go
  };
};

}  // namespace trainstep::follow
