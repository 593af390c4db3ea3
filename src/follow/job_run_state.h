// The state machine of a job in a cluster. An operator runs the job; this follows it, reports, judges, and ends it when necessary.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "follow/pending_clock.h"
#include "follow/pending_events.h"
#include "follow/run_state.h"

namespace trainstep::follow {

struct JobRules {
  std::string job;  // "pytorchjobs/train-1", for messages
  // v1 operators do not enforce the limit (docs/design/operators.md, Limits): failures are counted here, unless JobFound says otherwise.
  bool restarts_are_ours = false;
  std::size_t needed = 0;               // this many replicas must be scheduled for the job to run; 0: all
  std::string on_eviction = "default";  // job_options.on_eviction
  std::string run{};                    // its id, for messages
  bool never_removed = false;           // job_options.cleanup: never – except on a cancel
  bool at_shell = false;                // a person waits at a terminal, and a second signal means impatience
  // No status, no pods and no event for this long: no controller handles such jobs; operators restart within minutes.
  Duration operator_absent{600'000};
  Duration settle{5'000};      // how much later than the job the pods may end
  Duration log_end{300'000};   // how long the rest of the logs may take after the end of the job
  bool looks_on = false;       // the job belongs to somebody else (attach): no limits apply, and it is never changed
  Duration deletion{600'000};  // how long the deletion of a job by somebody else may take
};

// Rules:
//   Only the job's own status, as its job type judges it, makes a success or a failure; the end of a pod never does. But if the status says both, the
//   exit codes of the awaited members decide, and without them the end is unknown (system). A success that counts no succeeded pod is none either, if
//   no pod of the primary was ever seen (system).
//   Limits: each phase has its own clock, which counts all time in it, including that before an earlier attempt's job was adopted. Exceeding queued
//   or scheduling is a lack of capacity, all others are timeouts. Pending: docs/cluster.md, What pending and failing mean. No operator: system.
//   Neither while the API server cannot be reached. Before a job is ended because of its known state, it is read again: a watch may be silent without
//   being noticed. A job that disappears before its end was seen: unknown (system); so is one that somebody deletes and whose finalizers hold it for
//   long without a running pod. Cancel: RemoveJob before anything else. Eviction when another attempt may follow: the job is left to it, for a while
//   (interrupted). Any other removal: a job that another attempt of the step has adopted is left to it (interrupted). A second SIGINT, and at a
//   terminal any second signal, also ends the removal: the message says what is known. It does not end the keeping. Nothing is said about a job that
//   is not known: whoever has seen it reports what became of it. Attached: no actions but those for logs and events, whatever happens. The output of
//   programs that are ended, except by a cancel, is read to the end of their grace. After the end of the job a stop, a cancel or a lost server only
//   ends the waiting for logs: the verdict is that of the job.
// The sources: job_run_state.cpp events, job_pods.cpp pods and logs, job_pending.cpp what keeps them from running, job_phases.cpp phases and limits,
// job_verdict.cpp the end.
class JobRunState : public RunState {
 public:
  JobRunState(Rules rules, JobRules job_rules);
  std::vector<Action> begin(Time at) override;
  std::vector<Action> handle(const Event& event) override;
  [[nodiscard]] Json record_head(Time began) const override;

 private:
  // limit_phase + n belongs to phase n.
  enum Timer : int {
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

  // The pods of a member, in addition to MemberState.
  struct Slot {
    std::unique_ptr<job_types::PodView> pod;  // the newest; null: there is none
    std::string attempt;                      // of the newest pod: identifies its log, "UID/RESTARTS"; empty: none has started
    bool began = false;                       // the program has, in this pod
    bool ended = false;                       // the end of `attempt`, or of a pod without an attempt, has been seen
    int failures = 0;                         // of the attempts of this pod
    std::optional<Pending> pending;           // why the pod does not run
    PendingEvents trouble;                    // the same, from its events
    bool going_told = false;                  // the pod is deleted, and does not end
    std::set<std::string> replaced;           // uids of pods that were replaced by a newer one
    // By the uid of the pod: attempts in pods that are being deleted, while a newer one exists; their logs are still read.
    std::map<std::string, std::string> left;
    std::string earlier_attempt;
    std::optional<MemberState> earlier;  // the last attempt that failed and was replaced
  };
  struct Log {
    bool ending = false;    // EndLog was ordered
    bool complete = false;  // and confirmed
    bool whole = false;     // and nothing of it is missing
    bool metrics = false;   // they are read from it
  };
  // The member to report as the first that failed: its current or an earlier attempt.
  struct Culprit {
    MemberIndex member;
    const MemberState* state;
  };

  void on(const Told& told, Time at);
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
  void on(const JobSpared& spared, Time at);
  void on(const TimerFired& fired, Time at);
  template <typename Other>  // only happens to a gang
  void on(const Other&, Time) {}
  void suspended();
  void going(const std::string& finalizers);
  void check_deletion(Time at);
  void deleted(Time at, const std::string& more, bool remove = false);
  void beat(Time at);

  // pods
  void look_at_pod(MemberIndex member, Time at);
  void look_at_attempt(MemberIndex member, const job_types::ContainerView& container, Time at);
  void look_at_pending(MemberIndex member, Time at);
  void await_explanation(const Slot& slot);
  void ask_for_events();
  void tell_of_schedulers(Time at);
  void tell_of_pods_that_go();
  void attempt_begins(MemberIndex member, const job_types::ContainerView& container, Time at);
  void attempt_ends(MemberIndex member, Termination ending, Time at);
  void tell_failure(MemberIndex member);
  void count_failures(MemberIndex member);
  void replaced(MemberIndex member);
  void go_back_to_metrics(MemberIndex member);
  static bool is_older(const job_types::PodView& pod, const Slot& slot);
  void leave_pod(MemberIndex member, bool gone);
  void look_at_left_pod(const PodSeen& seen);
  void end_left_log(MemberIndex member, const std::string& uid, bool gone);
  void remember_last(MemberIndex member, const job_types::ContainerView& container, Time at);
  void open_log(MemberIndex member);
  void open_init_log(MemberIndex member);
  void open_previous_log(MemberIndex member);
  void end_log(MemberIndex member, bool restarted, bool gone = false);
  void end_log_of(MemberIndex member, const std::string& attempt, bool restarted, bool gone);
  [[nodiscard]] std::string goes_on_beside() const;
  [[nodiscard]] std::string failed_beside() const;

  // evaluation
  void evaluate(Time at);
  void enter_phase(result::Phase phase, Time at);
  [[nodiscard]] result::Phase phase_now() const;
  [[nodiscard]] bool awaited_have_succeeded() const;
  [[nodiscard]] PendingClock::Present present() const;
  void check_pending(Time at);
  void tell_pending(const PendingClock::Present& present);
  void look_again();
  void looked(Time at);
  void start_operator_timer();
  void check_operator(Time at);
  void check_restarts(Time at);
  void check_limits(Time at);
  void start_phase_timer(result::Phase phase, Time at);
  void check_staleness();
  void remember_runs(const PodSeen& seen, Time at);
  [[nodiscard]] Duration spent(result::Phase phase, Time at) const;
  [[nodiscard]] Duration earlier(result::Phase phase) const;
  [[nodiscard]] Duration whole(Time at) const;

  // the end
  void job_ended(Time at);
  void conclude_now(Time at);
  void conclude_when_settled(Time at);
  [[nodiscard]] bool end_is_known(MemberIndex member) const;
  [[nodiscard]] bool ends_may_come() const;
  [[nodiscard]] bool primary_is_unseen() const;
  [[nodiscard]] bool success_is_unproved() const;
  [[nodiscard]] bool logs_may_come() const;
  [[nodiscard]] std::set<MemberIndex> logs_without_end() const;
  void warn_of_logs_without_end();
  void warn_of_missing_log();
  [[nodiscard]] bool primary_was_read() const;
  void end_all_logs();
  [[nodiscard]] result::Verdict end_verdict();
  [[nodiscard]] result::Verdict failure_verdict() const;
  [[nodiscard]] result::Verdict unexplained_failure() const;
  [[nodiscard]] std::optional<MemberIndex> taken() const;
  [[nodiscard]] std::optional<result::Verdict> taken_verdict() const;
  bool await_taken();
  [[nodiscard]] std::optional<Culprit> first_to_fail() const;
  void keep_for_next(result::Verdict verdict, Time at);
  void remove_instead(const Error& why, Time at);
  void end_now();
  [[nodiscard]] bool logs_go_on() const;
  void finish_after_grace();
  void decide(result::Verdict verdict, Time at, bool remove);
  void finish();

  JobRules m_job_rules;
  std::vector<Slot> m_slots;
  std::map<std::pair<MemberIndex, std::string>, Log> m_logs;  // opened ones
  job_types::Judgement m_judgement;
  struct Warning {
    WarningSeen seen;
    std::optional<Pending> pending;
    bool stale = false;  // all pods have existed since then
  };
  std::vector<Warning> m_warnings;
  PendingClock m_pending_clock;
  std::optional<Pending> m_pending;     // the most serious one, as it was reported last
  std::optional<Time> m_pending_check;  // when its timer fires
  std::optional<Time> m_found;
  // Of an adopted job, by the cluster's clock: when it was created and found, and from when to when the attempts of its primary ran.
  std::optional<Time> m_created, m_adopted;
  std::map<std::string, std::pair<Time, std::optional<Time>>> m_runs;
  bool m_primary_seen = false;   // a pod of it was seen
  bool m_unheeded_told = false;  // reported that no controller handles it
  bool m_listed = false;         // waiting for the pods, after the end of the job
  bool m_looking = false;        // LookAgain was ordered
  bool m_listed_twice = false;   // … because no pod that was listed after the end of the job shows how it ended
  bool m_fresh = false;          // everything was just read again
  // Their timers are running; one of each is enough.
  bool m_events_awaited = false, m_schedulers_awaited = false, m_going_awaited = false;
  // To be checked when that is done.
  bool m_operator_is_due = false, m_limit_is_due = false, m_deletion_is_due = false;
  bool m_deleting = false;   // somebody else is deleting the job
  std::string m_finalizers;  // that hold it
  std::optional<EvictionSeen> m_eviction;
  bool m_restarts_are_ours = false;
  std::string m_hidden;          // why the pods cannot be seen; empty: they can
  bool m_unreachable = false;    // the API server: what is known may be outdated
  bool m_over = false;           // the status of the job is final, or we have given it up
  bool m_gave_up = false;        // it has failed more often than allowed: it continues until it is deleted
  bool m_ends_awaited = true;    // the pods may end after the job
  bool m_grace_awaited = false;  // … of a pod that is being taken away, for its grace
  bool m_logs_awaited = true;
  bool m_hurried = false;     // a signal or a cancel was received, perhaps after the verdict
  bool m_removing = false;    // RemoveJob was ordered
  bool m_keeping = false;     // KeepJob was ordered
  bool m_last_lines = false;  // the job is deleted, and the logs of its pods are read during their grace
  int m_failures = 0;         // of attempts that count against backoff_limit
  int m_failures_told = 0;
};

}  // namespace trainstep::follow
