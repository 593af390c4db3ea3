// SPDX-License-Identifier: Apache-2.0
#include "follow/job_removal.h"

#include <fmt/format.h>

#include <utility>

#include "follow/given_up.h"
#include "follow/job_timers.h"

namespace trainstep::follow {

bool JobRemoval::begin(const result::Verdict& verdict, bool remove, bool found) {
  remove = remove && !m_rules.is_observer;
  const bool cancelled = verdict.verdict_class == result::VerdictClass::cancelled;
  const bool left = remove && m_rules.never_removed && !cancelled;
  if (remove && !left) {  // first: there may be only milliseconds
    m_removing = true;
    // A signal alone does not mean that the run is cancelled.
    m_actions.add(RemoveJob{cancelled && verdict.signal == 0, found && !is_hurried(verdict)});
  }
  if (left && found) m_actions.warn("the job is left unchanged (job_options.cleanup: never)");
  if (!m_removing) return false;
  const auto* deed = found ? "deleting the job" : "looking for a job of this run";
  const auto why = verdict.message.empty() ? result::signal_name(verdict.signal) + " received" : verdict.message;
  m_actions.info(cancelled ? fmt::format("{}: {}", why, deed) : deed);
  return true;
}

// A user who wants it kept in any case has said so; otherwise it is kept for a while.
bool JobRemoval::keep() {
  m_keeping = m_rules.on_eviction != "keep" && !m_rules.is_observer;
  if (m_keeping) m_actions.add(KeepJob{});
  return m_keeping;
}

bool JobRemoval::await_last_lines(const result::Verdict& verdict, const JobLogs& logs) {
  if (!m_removing || is_hurried(verdict) || !logs.go_on()) return false;
  if (!std::exchange(m_last_lines, true)) m_actions.start_timer(JobTimer::logs_over, m_policy.stop_grace + m_rules.settle);
  return true;
}

void JobRemoval::warn_unfinished() {
  if (m_removing) m_actions.warn(fmt::format("the job may still exist: trainstep stop {}", m_rules.run));
}

}  // namespace trainstep::follow
