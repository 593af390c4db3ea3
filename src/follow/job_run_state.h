// The state machine of a job in a cluster: an operator runs it; we look on, tell, judge, and end it when it must end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "follow/pending.h"
#include "follow/pod_trouble.h"
#include "follow/run_state.h"

namespace trainstep::follow {

struct JobRules {
  std::string job;                      // "pytorchjobs/train-1", for messages
  bool restarts_are_ours = false;       // v1 operators keep no limit (docs/design/operators.md, Limits): we count, unless JobFound knows better
  std::size_t needed = 0;               // so many replicas must have a place for the job to run; 0: all
  std::string on_eviction = "default";  // job_options.on_eviction
  std::string run{};                    // its id, for messages
  bool never_removed = false;           // job_options.cleanup: never – but by a cancel
  bool at_shell = false;                // somebody waits for us there, and a second signal is impatience
  Duration operator_absent{600'000};  // no status, no pods, no event for so long: no controller picks such jobs up; operators restart within minutes
  Duration settle{5'000};             // how long the pods' own end may come later than the job's
  Duration log_end{300'000};          // how long the rest of the logs may take after the job's end
  bool looks_on = false;              // the job is somebody else's (attach): no limits, no patience, and nothing is ever done to it
  Duration deletion{600'000};         // how long a job that somebody else deletes may take to go
};

// Decides by these rules:
//   the job's own status, as its kind judges it, is the only thing that makes a success or a failure; a pod's end never is – but where the status
//   says both, the exit codes of the awaited members decide, and without them the end is unknown (system); nor is it a success if it counts no pod
//   that succeeded, and none of the primary was ever seen (system)
//   limits: each phase has its own clock, which counts all time in it, also that before an earlier attempt's job was adopted; passing queued or
//   scheduling is a lack of capacity, all others are time-outs
//   pending: follow/pending.h; operator absent: system; neither while the API server cannot be reached
//   before a job is ended because of what is known of it, it is looked at again: a watch may be silent without anybody's knowing
//   a job that is gone before its end was seen: unknown (system); so is one that somebody deletes and that its finalizers hold for long, of which no
//   pod is left running
//   cancel: RemoveJob before anything else; eviction with a next attempt that may come: the job is left to it, for a while (interrupted)
//   any other removal: a job that another attempt of the step has taken up is left to it (interrupted)
//   a second SIGINT, and at a shell any second signal, ends the removal, too: the words say what is known; it does not end the keeping
//   nothing is said of a job that is not known: what became of it is told by who has seen it
//   looking on: no order but those for logs and events is ever given, whatever happens
//   programs that are ended, but not by a cancel, are heard to the end of their grace
//   after the job's end a stop, a cancel or a lost server only ends the waiting for logs: the verdict is the job's
// The code: job_follower.cpp what happens, job_pods.cpp pods and logs, job_pending.cpp what keeps them from running, job_phases.cpp phases and
// limits, job_verdict.cpp the end.
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

  // What is known of a member beyond MemberState: its pods.
  struct Slot {
    std::unique_ptr<job_types::PodView> pod;  // the newest; null: there is none
    std::string attempt;                      // of the newest pod: whose log it is, "UID/RESTARTS"; empty: none has begun
    bool began = false;                       // the program has, in this pod
    bool ended = false;                       // the end of `attempt`, or of a pod in which none began, has been seen
    int failures = 0;                         // of this pod's attempts
    std::optional<Pending> pending;           // why the pod does not run
    PodTrouble trouble;                       // the same, as its events tell it
    bool going_told = false;                  // that the pod is deleted, and does not end
    std::set<std::string> replaced;           // uids of pods that a newer one has taken the place of
    std::map<std::string, std::string> left;  // by the pod's uid: attempts in pods that go, while a newer one is there; their logs are read on
    std::string earlier_attempt;
    std::optional<MemberState> earlier;  // the last attempt that failed and was replaced by a newer one
  };
  struct Log {
    bool ending = false;    // EndLog was ordered
    bool complete = false;  // and answered
    bool whole = false;     // and nothing of it is missing
    bool metrics = false;   // they are read from it
  };
  // Who is to be named as the first that failed: a member's current or earlier attempt.
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
  template <typename Other>  // what only happens to a gang of ours
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

  // what it all means
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
    bool stale = false;  // all pods have been there since
  };
  std::vector<Warning> m_warnings;
  PendingClock m_pending_clock;
  std::optional<Pending> m_pending;     // the gravest, as it was told last
  std::optional<Time> m_pending_check;  // when the timer for it fires
  std::optional<Time> m_found;
  // Of a job that was adopted, by the cluster's clock: when it was made and when it was found, and from when to when its primary's attempts ran.
  std::optional<Time> m_created, m_adopted;
  std::map<std::string, std::pair<Time, std::optional<Time>>> m_runs;
  bool m_primary_seen = false;   // a pod of it was
  bool m_unheeded_told = false;  // that nobody cares for it yet
  bool m_listed = false;         // the pods, after the job's end
  bool m_looking = false;        // LookAgain was ordered
  bool m_listed_twice = false;   // … because no pod that was listed after the job's end shows how it ended
  bool m_fresh = false;          // everything has just been looked at
  // Their timers run; no others are needed.
  bool m_events_awaited = false, m_schedulers_awaited = false, m_going_awaited = false;
  // To be checked when that is so.
  bool m_operator_is_due = false, m_limit_is_due = false, m_deletion_is_due = false;
  bool m_deleting = false;   // somebody else deletes the job
  std::string m_finalizers;  // that hold it
  std::optional<EvictionSeen> m_eviction;
  bool m_restarts_are_ours = false;
  std::string m_hidden;          // why the pods may not be seen; empty: they may
  bool m_unreachable = false;    // the API server: what is known may be old
  bool m_over = false;           // the job's own status is final, or we have given it up
  bool m_gave_up = false;        // it has failed more often than it may: it goes on until it is deleted
  bool m_ends_awaited = true;    // the pods' own ends may come after the job's
  bool m_grace_awaited = false;  // … of a pod that is taken away, for its grace
  bool m_logs_awaited = true;
  bool m_hurried = false;     // a signal or a cancel has come, perhaps after the verdict
  bool m_removing = false;    // RemoveJob was ordered
  bool m_keeping = false;     // KeepJob was ordered
  bool m_last_lines = false;  // the job is deleted, and the logs of its pods are read on while they take their grace
  int m_failures = 0;         // of attempts, that count against backoff_limit
  int m_failures_told = 0;
};

}  // namespace trainstep::follow
