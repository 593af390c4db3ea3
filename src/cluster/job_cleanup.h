// What becomes of a job after the verdict, once the outputs are safe: it is marked as reported, or deleted and its end awaited (job_options.cleanup;
// docs/cluster.md, What happens).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cluster/facts.h"
#include "cluster/job_claim.h"
#include "cluster/removal.h"
#include "cluster/time_left.h"
#include "kube/client.h"
#include "plan/plan.h"
#include "result/verdict.h"

namespace trainstep::cluster {

class JobCleanup {
 public:
  struct Job {
    kube::Path path;
    std::string_view kind;
    std::string uid;
    bool removing = false;              // its removal was ordered before the end …
    bool removed = false;               // … and its deletion accepted
    bool at_once = false;               // … whatever follows: the run was cancelled
    bool awaits_pods = false;           // they still write during their grace: their end is waited for
    bool data_will_be_deleted = false;  // what it has delivered is or will be deleted: whoever finds the job has to create it again
  };
  struct Sink {
    std::function<bool()> create_may_take_effect;   // a create whose response was lost may still take effect
    std::function<void(std::string text)> log;      // what it waits for
    std::function<void(std::string problem)> done;  // called once: what could not be done; empty: nothing
  };

  // References must outlive it.
  JobCleanup(kube::Client& client, const plan::Plan& plan, const Facts& facts, const TimeLeft& time, Job job, Sink sink);
  JobCleanup(const JobCleanup&) = delete;
  JobCleanup& operator=(const JobCleanup&) = delete;

  void begin(const result::Verdict& verdict);
  // How long it is retried.
  static Duration time_for_it(const TimeLeft& time);

 private:
  void mark(const result::Verdict& verdict);
  void wait_for_mark();
  void remove_when_settled();
  void remove_to_the_end();
  void finish(std::string problem);

  kube::Client& m_client;
  const plan::Plan& m_plan;
  const Facts& m_facts;
  const TimeLeft& m_time;
  Job m_job;
  Sink m_sink;
  JobClaim m_claim;
  bool m_releases_claim = false;
  bool m_failing_told = false;
  bool m_wait_logged = false;
  kube::PendingCall m_call;
  Timer m_timer;
  std::unique_ptr<Removal> m_removal;
};

}  // namespace trainstep::cluster
