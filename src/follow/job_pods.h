// The pods of a job's members, and the attempts of the program in them: decides which pod of a member counts, when its program began, failed and was
// restarted, and which logs that calls for. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "follow/actions.h"
#include "follow/attempt_metrics.h"
#include "follow/job_logs.h"
#include "follow/run_state.h"

namespace trainstep::follow {

class JobPods {
 public:
  // Which members' logs are read from the first attempt on, by member; of the others only that of the first failure is.
  using Followed = std::vector<bool>;
  // Keeps the states in `members` up to date. All references must outlive it.
  JobPods(const Rules& rules, Followed followed, std::vector<MemberState>& members, JobLogs& logs, AttemptMetrics& metrics, Actions& actions);

  // What is known of the job when something is seen of its pods.
  struct Stage {
    bool suspended = false;  // its pods are deleted and will be recreated: their ends are none
    bool over = false;       // failures belong to the end that is known
    bool decided = false;    // it is being ended by us
  };
  struct Change {
    bool newest = false;                 // it is about the pod that counts; false: about one that was replaced, of which only the log is still read
    std::optional<Time> sign_of_life{};  // when an attempt began or ended
  };
  Change see(const PodSeen& seen, const Stage& stage, Time at);
  Change gone(const PodGone& gone, const Stage& stage, Time at);
  // The job was: all pods will be recreated, neither their ends nor what happened to them before count.
  void suspended();

  [[nodiscard]] std::size_t size() const { return m_slots.size(); }
  // The newest one of this member; null: there is none.
  [[nodiscard]] const job_types::PodView* pod(MemberIndex member) const { return m_slots.at(member).pod.get(); }
  [[nodiscard]] bool any() const;  // there is a pod
  [[nodiscard]] bool all() const;  // … for each member
  // The program has begun in the newest pod.
  [[nodiscard]] bool began(MemberIndex member) const { return m_slots[member].began; }
  // Of each member the last attempt that failed and was replaced; null: none.
  [[nodiscard]] std::vector<const MemberState*> earlier() const;
  [[nodiscard]] bool primary_was_seen() const { return m_primary_seen; }
  // Of attempts that count against backoff_limit.
  [[nodiscard]] int failures() const { return m_failures; }
  // The last lines of the attempt that wrote this; null: it is of no interest.
  [[nodiscard]] result::Tail* tail_for(const MemberOutput& output);
  // Programs that have ended in pods that have not: names what the pods wait for. Empty: there are none.
  [[nodiscard]] std::string describe_running_sidecar() const;

  // Of the attempt in the newest pod, if it has not been opened.
  void open_log(MemberIndex member);
  // Of the attempt before it in the same container, which nobody followed. True: it was opened.
  bool open_previous_log(MemberIndex member);
  // The job has ended: what members that still run (servers, workers after the master) have written by now is all.
  void end_all_logs();

 private:
  // The pods of a member, in addition to MemberState.
  struct Slot {
    std::unique_ptr<job_types::PodView> pod;  // the newest; null: there is none
    std::string attempt;                      // of the newest pod: identifies its log, "UID/RESTARTS"; empty: none has started
    bool began = false;                       // the program has, in this pod
    bool ended = false;                       // the end of `attempt`, or of a pod without an attempt, has been seen
    int failures = 0;                         // of the attempts of this pod
    std::set<std::string> replaced;           // uids of pods that were replaced by a newer one
    // By the uid of the pod: attempts in pods that are being deleted, while a newer one exists; their logs are still read.
    std::map<std::string, std::string> left;
    std::string earlier_attempt;
    std::optional<MemberState> earlier;  // the last attempt that failed and was replaced
  };

  static bool is_older(const job_types::PodView& pod, const Slot& slot);
  void handle_pod(MemberIndex member, Time at);
  void look_at_attempt(MemberIndex member, const job_types::ContainerView& container, Time at);
  void attempt_begins(MemberIndex member, const job_types::ContainerView& container, Time at);
  void attempt_ends(MemberIndex member, Termination ending, Time at);
  void tell_failure(MemberIndex member);
  void count_failures(MemberIndex member);
  void remember_last(MemberIndex member, const job_types::ContainerView& container, Time at);
  void replaced(MemberIndex member);
  void leave_pod(MemberIndex member, bool gone);
  void go_back_to_metrics(MemberIndex member);
  void open_init_log(MemberIndex member);
  void end_log(MemberIndex member, bool restarted, bool gone = false);
  void end_left_log(MemberIndex member, const std::string& uid, bool gone);

  const Rules& m_rules;
  Followed m_followed;
  std::vector<MemberState>& m_members;
  JobLogs& m_logs;
  AttemptMetrics& m_metrics;
  Actions& m_actions;
  Stage m_stage;                       // during an event
  std::optional<Time> m_sign_of_life;  // during an event: when an attempt began or ended
  std::vector<Slot> m_slots;
  bool m_primary_seen = false;  // a pod of it was
  int m_failures = 0;
  int m_failures_told = 0;
};

}  // namespace trainstep::follow
