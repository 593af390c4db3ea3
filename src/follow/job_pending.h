// Decides what keeps a job from running, whether that is news, and whether it has lasted too long: by the status and the events of its pods, by the
// Warning events of the job, and by what nobody says. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "follow/actions.h"
#include "follow/job_pods.h"
#include "follow/pending_clock.h"
#include "follow/pending_events.h"
#include "result/verdict.h"

namespace trainstep::follow {

class JobPending {
 public:
  // `is_observer`: nothing is ever final. Messages and timers go to `actions`. Both references must outlive it.
  JobPending(const Rules& rules, bool is_observer, Actions& actions);

  // An event of the job. It stays until all pods that it may be about exist. False: it was known.
  bool hear(const WarningSeen& seen);
  // An event of a pod. False: it is about another one than `pods` has, and is ignored.
  bool hear(const PodWarningSeen& seen, const JobPods& pods, Time at);
  // The newest pod of this member has changed: what its status says. Starts the timers after which an explanation is asked for.
  void look_at(MemberIndex member, const job_types::PodView& pod, Time at);
  // It exists no longer.
  void forget(MemberIndex member) { m_slots[member] = {}; }

  struct Now {
    bool suspended = false;    // nothing is missing
    bool unreachable = false;  // the API server is: what is known may be outdated
    bool fresh = false;        // everything was just read again
  };
  struct Outcome {
    bool refresh = false;                    // a limit is exceeded, by what may be outdated
    std::optional<result::Verdict> verdict;  // a limit is exceeded
  };
  // Reports what is new, and starts the timer pending_over for the next limit.
  Outcome check(const JobPods& pods, const Now& now, Time at);
  // The timer has fired.
  void timer_fired() { m_check.reset(); }
  // Nothing that could not be seen until now counts.
  void restart(Time at);

  // When their timers have fired: pods that do not begin, and nothing says why; that wait for a scheduler; that are deleted and do not end, unless
  // that is `expected`.
  void ask_for_events(const JobPods& pods);
  void tell_of_schedulers(const JobPods& pods);
  void tell_of_pods_that_go(const JobPods& pods, bool expected);

  // The most serious obstacle, as it was reported last; null: none.
  [[nodiscard]] const Pending* told() const { return m_told ? &*m_told : nullptr; }
  // Pods are missing because of a quota.
  [[nodiscard]] bool by_quota() const;
  // There was an event of the job.
  [[nodiscard]] bool any_warning() const { return !m_warnings.empty(); }

 private:
  // What is known of the newest pod of a member.
  struct Slot {
    std::string uid;
    std::optional<Pending> pending;  // why the pod does not run
    PendingEvents events;            // the same, from its events
    bool going_told = false;         // the pod is deleted, and does not end
  };
  struct Warning {
    WarningSeen seen;
    std::optional<Pending> pending;
    bool stale = false;  // all pods have existed since then
  };

  void read(MemberIndex member, const job_types::PodView& pod, Time at);
  void await_explanation(const Slot& slot, const job_types::PodView& pod);
  void check_staleness(const JobPods& pods);
  [[nodiscard]] PendingClock::Present present() const;
  void tell(const PendingClock::Present& present);

  const Rules& m_rules;
  bool m_is_observer;
  Actions& m_actions;
  std::vector<Slot> m_slots;
  std::vector<Warning> m_warnings;
  PendingClock m_clock;
  std::optional<Pending> m_told;  // the most serious one, as it was reported last
  std::optional<Time> m_check;    // when its timer fires
  // Their timers are running; one of each is enough.
  bool m_events_awaited = false, m_schedulers_awaited = false, m_going_awaited = false;
};

}  // namespace trainstep::follow
