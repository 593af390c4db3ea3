// The job that an earlier attempt of this step may have created, which has the name of the one that this attempt would create.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cluster/attempt_order.h"
#include "cluster/job_place.h"
#include "cluster/job_search.h"
#include "cluster/ownership.h"
#include "plan/plan.h"

namespace trainstep::cluster {

class EarlierJob {
 public:
  struct Context {
    const JobPlace& place;
    AttemptOrder& order;
    std::string attempt;  // this one
    bool at_shell;        // somebody waits: silence is reported
  };

  // References must outlive it.
  explicit EarlierJob(Context context);
  EarlierJob(const EarlierJob&) = delete;
  EarlierJob& operator=(const EarlierJob&) = delete;

  // Looks for it by the name in the plan, for at most five minutes. Calls `done` once, from the loop. One look at a time: another one ends it.
  // `doubts_absence`: as for JobSearch.
  void look(const plan::Plan& plan, std::function<void(const JobSearch::Answer& found)> done, bool doubts_absence = false);
  // What it is for a step with this plan, which must outlive the call. Calls `done` once, perhaps immediately.
  void judge(const Json& job, const plan::Plan& plan, std::function<void(Existing existing)> done);
  // Ends a look.
  void leave() { m_search.reset(); }

 private:
  Context m_context;
  std::unique_ptr<JobSearch> m_search;
};

}  // namespace trainstep::cluster
