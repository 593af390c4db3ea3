// The phases of a job and their limits: decides how much time of each limit is used, which includes what a job had used before it was adopted. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "follow/actions.h"
#include "follow/event.h"
#include "follow/job_pods.h"
#include "follow/rules.h"
#include "result/timeline.h"

namespace trainstep::follow {

class PhaseClock {
 public:
  // Phases are entered into `timeline`; messages and timers go to `actions`. All references must outlive it.
  PhaseClock(const Rules& rules, result::Timeline& timeline, Actions& actions) : m_rules(rules), m_timeline(timeline), m_actions(actions) {}

  // The step begins. Starts the timer limit_total.
  void begin(Time at);
  // The job was found. Starts limit_total again for one that was adopted.
  void see(const JobFound& found, Time at);
  [[nodiscard]] bool found() const { return m_found.has_value(); }
  // How long the program in this pod of the primary has run before an adopted job was found: its limit continues from there. `container_name`: the
  // program's. True: something new is known of it.
  bool remember_runs(const job_types::PodView& pod, const std::string& container_name);

  // The job is in this phase, which is reported if it is another one than before. Starts the timer of the phase.
  void enter(result::Phase phase, const JobPods& pods, Time at);
  // The timer of its limit, for what is left of it.
  void start_timer(result::Phase phase, const JobPods& pods, Time at);
  // The limit of this phase, if it has passed. Otherwise its timer is started again.
  std::optional<Duration> exceeded(result::Phase phase, const JobPods& pods, Time at);
  // The limit for the whole step, if it has passed.
  [[nodiscard]] std::optional<Duration> total_exceeded(Time at) const;

 private:
  // Of an adopted job, by the cluster's clock: when it was created and found.
  struct Adopted {
    Time created, found;
  };
  // The time that the job has spent in a phase: by the timeline of this step and, of an adopted job, before, as far as its pods tell.
  [[nodiscard]] Duration spent(result::Phase phase, const JobPods& pods, Time at) const;
  // All phases together.
  [[nodiscard]] Duration whole(Time at) const;
  [[nodiscard]] Duration before(result::Phase phase, const Adopted& job, const JobPods& pods) const;
  static Duration between(const Adopted& job, Time from, const std::optional<Time>& to);

  const Rules& m_rules;
  result::Timeline& m_timeline;
  Actions& m_actions;
  Time m_began;
  std::optional<Time> m_found;
  std::optional<Adopted> m_adopted;
  // Of an adopted job: from when to when the attempts of its primary ran.
  std::map<std::string, std::pair<Time, std::optional<Time>>> m_runs;
};

}  // namespace trainstep::follow
