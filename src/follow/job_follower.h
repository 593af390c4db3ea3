// The state machine of a job in a cluster: an operator runs it; we look on, tell, judge, and end it when it must end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "follow/machine.h"
#include "follow/pending.h"

namespace trainstep::follow {

struct JobRules {
  std::string job;                      // "pytorchjob/train-1", for messages
  bool restarts_are_ours = false;       // the operator does not keep backoffLimit (operators.md §8, trap 2): we count
  std::string on_eviction = "default";  // job_options.on_eviction
  Duration operator_absent{120'000};    // no status, no pods, no event for so long: nobody cares for such jobs here
  Duration settle{5'000};               // how long the pods' own end may come later than the job's
  Duration log_end{15'000};             // how long the rest of the logs may take after the job's end
};

// Decides by these rules:
//   the job's own status, as its kind judges it, is the only thing that makes a success or a failure; a pod's end never is
//   limits: each phase has its own clock; passing queued or scheduling is a lack of capacity, all others are time-outs
//   pending: follow/pending.h; operator absent: system
//   a job that is gone before its end was seen: unknown (system)
//   cancel: RemoveJob before anything else; eviction with a next attempt to come: the job is left alone (interrupted)
class JobFollower : public Machine {
 public:
  JobFollower(Rules rules, JobRules job_rules);
  std::vector<Action> begin(Time at) override;
  std::vector<Action> handle(const Event& event) override;
  [[nodiscard]] Json record_head(Time began) const override;

 private:
  using AttemptKey = std::pair<MemberIndex, std::string>;
  struct Slot {
    std::optional<kinds::PodView> pod;  // the newest
    std::string attempt;                // empty: none has begun
  };

  void on(const Told& told, Time at);
  void on(const JobFound& found, Time at);
  void on(const JobSeen& seen, Time at);
  void on(const JobGone&, Time at);
  void on(const PodSeen& seen, Time at);
  void on(const PodGone& gone, Time at);
  void on(const WarningSeen& seen, Time at);
  void on(const MemberOutput& output, Time at) { take_output(output, at); }
  void on(const LogComplete& complete, Time at);
  void on(const CancelSeen& seen, Time at);
  void on(const EvictionSeen& seen, Time at);
  void on(const StopRequested& request, Time at);
  void on(const BackendFailed& failed, Time at);
  void on(const ServerTrouble& trouble, Time at);
  void on(const TimerFired& fired, Time at);
  template <typename Other>  // what only happens to a gang of ours
  void on(const Other&, Time) {}

  // pods
  void attempt_begins(MemberIndex member, const kinds::ContainerView& container, Time at);
  void attempt_ends(MemberIndex member, Ending ending, Time at);
  void look_at_pod(MemberIndex member, Time at);
  void open_log(MemberIndex member);
  void end_log(MemberIndex member, bool restarted);
  // what it all means
  void evaluate(Time at);
  void enter_phase(result::Phase phase, Time at);
  [[nodiscard]] result::Phase phase_now() const;
  void look_at_pending(Time at);
  void check_restarts(Time at);
  void check_limits(Time at);
  // the end
  void job_ended(Time at);
  void conclude_when_settled(Time at);
  [[nodiscard]] result::Verdict failure_verdict() const;
  [[nodiscard]] std::optional<MemberIndex> first_to_fail() const;
  void decide(result::Verdict verdict, Time at, bool remove);
  void finish();

  JobRules m_job_rules;
  std::vector<Slot> m_slots;
  std::map<AttemptKey, bool> m_logs;  // opened ones → complete
  kinds::Judgement m_judgement;
  std::vector<Warning> m_warnings;
  std::optional<Pending> m_pending;
  Time m_pending_since;
  std::optional<Time> m_found;
  std::optional<EvictionSeen> m_eviction;
  bool m_over = false;      // the job's own status is final
  bool m_settled = false;   // nothing more is waited for after its end
  bool m_removing = false;  // RemoveJob was ordered
  int m_restarts = 0;
};

}  // namespace trainstep::follow
