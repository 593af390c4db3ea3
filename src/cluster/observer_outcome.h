// How the job of another step ended, for a command that only observes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "cluster/backend.h"
#include "run/runner.h"

namespace trainstep::cluster {

// The step of the job knows more than the status: whether the outputs were delivered, which limit was exceeded. The step of a Workflow records that
// on the job at its end; jobs of others are usually deleted then.
class ObserverOutcome {
 public:
  struct Context {
    Loop& loop;
    ClusterBackend& backend;
    bool in_workflow;  // the job's step
    std::function<void(const std::string& line)> log;
  };

  // References must outlive it.
  ObserverOutcome(Context context, std::function<void(run::Outcome)> done);
  ObserverOutcome(const ObserverOutcome&) = delete;
  ObserverOutcome& operator=(const ObserverOutcome&) = delete;

  // `outcome`: according to the job itself. Waits two minutes for what the step has to say. Calls `done` once, perhaps immediately.
  void begin(run::Outcome outcome);

 private:
  void take_curves();
  void await_reported_outcome(int looks);

  Context m_context;
  std::function<void(run::Outcome)> m_done;
  run::Outcome m_outcome;
  Timer m_timer;
};

}  // namespace trainstep::cluster
