// Follows the job of an earlier attempt if what a new one would need cannot be read, or not yet. The job itself says where its data are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cluster/earlier_job.h"
#include "cluster/job_place.h"
#include "cluster/plan_preparation.h"
#include "plan/plan.h"

namespace trainstep::cluster {

class EarlierJobAdoption {
 public:
  // What is read before there is a job may take this long until one of an earlier attempt is looked for without it.
  static constexpr Duration slow{10'000};

  struct Context {
    Loop& loop;
    EarlierJob& job;
    JobPlace& place;                     // gets the route of the job's data
    const PlanPreparation& preparation;  // which has not made a plan
    bool is_observer;                    // for a job that exists: no other is looked for
    std::function<Result<plan::Plan>()> make_plan;
    std::function<std::string()> what_may_be_left;  // of which a message must warn
  };
  struct Sink {
    // `why`: no job can be created; unset: only what exists is ended.
    std::function<void(plan::Plan plan, std::optional<Error> why)> follow;
    std::function<void(Error why)> failed;
    std::function<void()> read_again;  // the API server answers again
  };

  // References must outlive it.
  EarlierJobAdoption(Context context, Sink sink);
  EarlierJobAdoption(const EarlierJobAdoption&) = delete;
  EarlierJobAdoption& operator=(const EarlierJobAdoption&) = delete;

  // `why`: what could not be read; unset: it is still being read, and the sink is called only if there is such a job. Allowed again.
  void look(std::optional<Error> why);
  // The same after some time.
  void look_after(Duration delay);
  // A stop was requested: a job that is found is followed in any case.
  void stop() { m_stopped = true; }
  // There is a plan, or the step has ended: the sink is not called any more.
  void leave();

 private:
  void looked(const JobSearch::Answer& found, Time began);
  void take(const Json& job);
  void unrouted(plan::Plan plan, const Error& why);

  Context m_context;
  Sink m_sink;
  Timer m_timer;
  std::optional<Error> m_failed;  // the reading
  bool m_stopped = false;
  bool m_left = false;
};

}  // namespace trainstep::cluster
