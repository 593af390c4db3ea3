// Why a pod does not begin, where its status does not tell: volumes that cannot be mounted and networks that are not there show in events of the pod
// alone, a scheduler that is not there shows nowhere. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "follow/event.h"
#include "follow/pending.h"
#include "follow/rules.h"

namespace trainstep::follow {

// It has a node, and its status does not say what for it waits there: for a long pull, most often.
bool begins_unexplained(const job_types::PodView& pod);
// No scheduler has said anything of it.
bool awaits_scheduler(const job_types::PodView& pod);

class PodTrouble {
 public:
  // `at`: when it happened; what is older than what is known tells nothing new. It is told again while it lasts: by kubelets every two minutes at the
  // latest, after some 25 events of a pod every five, if only in their summary.
  void hear(const PodWarningSeen& warning, Time at);
  // It has awaited a scheduler for long.
  void ignored() { m_ignored = true; }
  [[nodiscard]] bool any() const { return m_ignored || m_heard.has_value(); }
  // None: nothing was told, or that was so long ago that it is over, or the pod shows that it is.
  [[nodiscard]] std::optional<Pending> pending(const Member& member, const job_types::PodView& pod, Time at) const;

 private:
  struct Heard {
    Pending pending;
    Duration lasts;  // after which it would have been told again
    Time at;
  };
  std::optional<Heard> m_heard;
  bool m_ignored = false;
};

}  // namespace trainstep::follow
