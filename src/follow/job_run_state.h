// The state machine of a job in a cluster. An operator runs the job; this follows it, reports, judges, and ends it when necessary.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "follow/end_wait.h"
#include "follow/job_facts.h"
#include "follow/job_logs.h"
#include "follow/job_pending.h"
#include "follow/job_pods.h"
#include "follow/job_removal.h"
#include "follow/job_rules.h"
#include "follow/operator_watch.h"
#include "follow/phase_clock.h"
#include "follow/run_state.h"

namespace trainstep::follow {

// Rules:
//   Outcome: only the job's own status, as its job type judges it, makes a success or a failure; the end of a pod never does. If the status says
//     both, the exit codes of the awaited members decide, and without them the end is unknown (system). A success that counts no succeeded pod is
//     none either, if no pod of the primary was ever seen (system).
//   Limits: each phase has its own clock, which counts all time in it, including that before an earlier attempt's job was adopted. Exceeding
//     queued or scheduling is a lack of capacity, all others are timeouts. No limit ends the job while the API server cannot be reached.
//   Pending: follow/pending.h. If no operator handles the job: system.
//   Before a job is ended because of its known state, it is read again: a watch may be silent without being noticed.
//   Gone: a job that disappears before its end was seen is unknown (system); so is one that another client deletes and whose finalizers hold it
//     for long without a running pod.
//   Cancel: RemoveJob before anything else. Unless the run is cancelled, a job that another attempt of the step has adopted is left to it
//     (interrupted).
//   Eviction, when another attempt may follow: the job is left to it, for a while (interrupted).
//   A second SIGINT, and at a terminal any second signal, also ends the removal, but not the keeping: the message says what is known. Nothing is
//     said about a job that is not known: the attempt that saw it reports its outcome.
//   Attached: no actions but those for logs and events, whatever happens.
//   Output: that of programs that are ended, except by a cancel, is read to the end of their grace. After the end of the job a stop, a cancel or
//     a lost server only ends the waiting for logs: the verdict is that of the job.
// What it knows is kept by its parts: job_pods.h pods and attempts, job_logs.h their logs, job_pending.h what keeps them from running, phase_clock.h
// the time spent, operator_watch.h whether anybody handles it, end_wait.h what is awaited after the end, job_removal.h what becomes of the job.
// job_phase.h, job_verdict.h and given_up.h judge that.
class JobRunState : public RunState {
 public:
  JobRunState(Rules rules, JobRules job_rules);
  std::vector<Action> begin(Time at) override;
  std::vector<Action> handle(const Event& event) override;
  [[nodiscard]] Json record_head(Time began) const override;

 private:
  void on(const BackendMessage& told, Time at);
  void on(const JobFound& found, Time at);
  void on(const JobSeen& seen, Time at);
  void on(const JobGone&, Time at);
  void on(const PodSeen& seen, Time at);
  void on(const PodGone& gone, Time at);
  void on(const WarningSeen& seen, Time at);
  void on(const PodWarningSeen& seen, Time at);
  void on(const MemberOutput& output, Time at);
  void on(const LogComplete& complete, Time at);
  void on(const CancelSeen& seen, Time at);
  void on(const EvictionSeen& seen, Time at);
  void on(const StopRequested& request, Time at);
  void on(const BackendFailed& failed, Time at);
  void on(const ServerTrouble& trouble, Time at);
  void on(const PodsListed&, Time at);
  void on(const JobKept&, Time at);
  void on(const PodsHidden& hidden, Time at);
  void on(const JobFollowed&, Time at);
  void on(const JobSucceededFirst& spared, Time at);
  void on(const TimerFired& fired, Time at);
  template <typename Other>  // only happens to a gang
  void on(const Other&, Time) {}

  [[nodiscard]] JobFacts facts() const;
  [[nodiscard]] JobPods::Stage stage() const;

  // while it runs
  void evaluate(Time at);
  void check_pending(Time at);
  void check_restarts(Time at);
  void check_limits(Time at);
  void check_operator(Time at);
  void refresh();
  void looked(Time at);
  void beat(Time at);

  // while somebody else deletes it
  void going(const std::string& finalizers);
  void check_deletion(Time at);

  // after its end
  void job_ended(Time at);
  void settle_is_over(Time at);
  void conclude_now(Time at);
  void conclude_when_settled(Time at);

  // the end of the step
  void decide(result::Verdict verdict, Time at, bool remove);
  void keep_for_next(result::Verdict verdict, Time at);
  void finish();

  JobRules m_job_rules;
  JobLogs m_logs;
  JobPods m_pods;
  JobPending m_pending;
  PhaseClock m_clock;
  OperatorWatch m_operator;
  EndWait m_wait;
  JobRemoval m_removal;
  job_types::Judgement m_judgement;
  bool m_refreshing = false;  // Refresh was ordered, and PodsListed has not followed yet
  bool m_fresh = false;       // everything was just read again
  // To be checked when that is done.
  bool m_operator_is_due = false, m_limit_is_due = false, m_deletion_is_due = false;
  bool m_deleting = false;   // another client is deleting the job
  std::string m_finalizers;  // that hold it
  std::optional<EvictionSeen> m_eviction;
  bool m_restarts_are_ours = false;
  std::string m_hidden;        // why the pods cannot be seen; empty: they can
  bool m_unreachable = false;  // the API server: what is known may be outdated
  bool m_over = false;         // the status of the job is final, or we have given it up
  bool m_gave_up = false;      // it has failed more often than allowed: it continues until it is deleted
  bool m_hurried = false;      // a signal or a cancel was received, perhaps after the verdict
};

}  // namespace trainstep::follow
