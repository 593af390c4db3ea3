// Decides whether a controller handles the job at all: none does if nothing is seen of it for long. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "follow/actions.h"
#include "follow/job_rules.h"

namespace trainstep::follow {

class OperatorWatch {
 public:
  // Messages and timers go to `actions`. Both references must outlive it.
  OperatorWatch(const JobRules& rules, Actions& actions) : m_rules(rules), m_actions(actions) {}

  // From now on something should be seen. Starts the timer operator_absent.
  void start();
  // The timer has fired, and there is no status, no pod and no event. True: for so long that no controller will come; never for an observer. The
  // first time that is only reported, and the timer started again.
  bool is_absent();

 private:
  const JobRules& m_rules;
  Actions& m_actions;
  bool m_told = false;
};

}  // namespace trainstep::follow
