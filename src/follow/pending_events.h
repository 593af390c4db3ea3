// Decides from the events of a pod, and from their absence, what keeps it from starting when its status does not tell: volumes that cannot be mounted
// and networks that are not ready only appear in events of the pod, a missing scheduler appears nowhere. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "follow/event.h"
#include "follow/pending.h"
#include "follow/rules.h"

namespace trainstep::follow {

// It has a node, and its status does not say what it waits for there: usually a long pull.
bool begins_unexplained(const job_types::PodView& pod);
// No scheduler has reported anything about it.
bool awaits_scheduler(const job_types::PodView& pod);

// What was heard about one pod.
class PendingEvents {
 public:
  // `at`: when it happened; anything older than what is known is ignored. It is reported again while it lasts: by kubelets at least every two
  // minutes, after some 25 events of a pod every five, possibly only in their summary.
  void hear(const PodWarningSeen& warning, Time at);
  // It has waited long for a scheduler.
  void ignored() { m_ignored = true; }
  [[nodiscard]] bool any() const { return m_ignored || m_heard.has_value(); }
  // nullopt: nothing was reported, or so long ago that it is over, or the pod shows that it is.
  [[nodiscard]] std::optional<Pending> pending(const Member& member, const job_types::PodView& pod, Time at) const;

 private:
  struct Heard {
    Pending pending;
    Duration lasts;  // after which it would have been reported again
    Time at;
  };
  std::optional<Heard> m_heard;
  bool m_ignored = false;
};

}  // namespace trainstep::follow
