// Keeps a job for the next attempt of its step (docs/adr/0021): sets a deadline, which ends the job if that attempt never comes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cluster/facts.h"
#include "cluster/keep_deadline.h"
#include "cluster/seen_job.h"
#include "cluster/time_left.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

// How long a job is kept for the next attempt of its step.
Duration kept_length(const Facts& facts);

class JobKeeping {
 public:
  // Called from the loop; the last call may destroy this object.
  struct Sink {
    std::function<void(std::string text)> log;
    std::function<void()> kept;  // or there is nothing that a deadline would have to end
    // It is suspended and has not started: nothing is lost, and no deadline would end it.
    std::function<void()> waits_in_queue;
  };
  // References must outlive it. `job`: the one that was seen, as it is to be recorded in it now. `ended`: when the end of our pod began, by the
  // cluster's clock; unset: now.
  JobKeeping(kube::Client& client, const plan::Plan& plan, const Facts& facts, const TimeLeft& time, SeenJob& seen,
             std::function<KeepDeadline::Job()> job, std::optional<Time> ended, Sink sink);
  JobKeeping(const JobKeeping&) = delete;
  JobKeeping& operator=(const JobKeeping&) = delete;

  void begin();
  // Of the last attempt to set a deadline; empty: none has failed.
  [[nodiscard]] const std::string& problem() const { return m_problem; }

 private:
  void check_suspended();
  void set_deadline(int tries);
  void failed(int tries, const kube::ApiError& problem);
  void look_before_next(int tries);
  [[nodiscard]] bool is_over(const Json& job) const;
  [[nodiscard]] kube::Path path() const;

  kube::Client& m_client;
  const plan::Plan& m_plan;
  const Facts& m_facts;
  const TimeLeft& m_time;
  SeenJob& m_seen;
  std::function<KeepDeadline::Job()> m_job;
  std::optional<Time> m_ended;
  Sink m_sink;
  std::string m_problem;
  std::unique_ptr<KeepDeadline> m_keep_deadline;
  kube::PendingCall m_call;
  Timer m_timer;
};

}  // namespace trainstep::cluster
