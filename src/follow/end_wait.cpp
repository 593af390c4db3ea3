// SPDX-License-Identifier: Apache-2.0
#include "follow/end_wait.h"

#include <fmt/format.h>

#include <utility>

#include "follow/job_timers.h"
#include "follow/termination.h"

namespace trainstep::follow {

void EndWait::restart() {
  m_listed = m_listed_twice = false;
  m_ends_awaited = m_logs_awaited = true;
}

void EndWait::listed() {
  m_listed = true;
  if (m_listed_twice) return;
  m_actions.start_timer(JobTimer::settle_over, m_job_rules.settle);
  m_actions.start_timer(JobTimer::logs_over, m_job_rules.log_end);
}

// It may save its work, and report that: Kubernetes gives it half a minute by default.
bool EndWait::await_taken(const JobFacts& facts) {
  constexpr Duration usual_grace{45'000};
  const auto who = facts.failed() ? facts.taken_first() : std::nullopt;
  if (!who) return false;
  const auto* pod = facts.pods->pod(*who);
  if (pod == nullptr || !pod->deleting || pod->over() || std::exchange(m_grace_awaited, true)) return false;
  m_actions.info(fmt::format("{} is being removed from the job ({}); waiting up to {} for it to end", m_rules.members[*who].name,
                             termination_of(*pod, nullptr).reason, describe(usual_grace)));
  m_actions.start_timer(JobTimer::settle_over, usual_grace);
  return true;
}

bool EndWait::list_again(const JobFacts& facts) {
  m_ends_awaited = false;
  const bool unclear = facts.failed() ? !facts.first_to_fail() : facts.primary_is_unseen() || facts.is_success_unconfirmed();
  if (!unclear || std::exchange(m_listed_twice, true)) return false;
  m_listed = false;  // its former state, perhaps from a server that is behind, and the watch is silent
  return true;
}

void EndWait::stop() {
  warn_of_logs_without_end();
  m_ends_awaited = m_logs_awaited = false;
}

void EndWait::stop_now() {
  if (m_listed) warn_of_logs_without_end();
  m_ends_awaited = m_logs_awaited = false;
  m_listed = true;
}

bool EndWait::ends_may_come(const JobFacts& facts) const {
  if (!m_ends_awaited) return false;
  if (facts.failed() && facts.first_to_fail()) return facts.taken_first().has_value();
  if (facts.is_success_unconfirmed()) return true;  // the server that listed them may be behind
  // All existing pods have been listed: nothing more will be known of the missing ones.
  for (MemberIndex i = 0; i < m_rules.members.size(); ++i) {
    const auto& member = m_rules.members[i];
    if (facts.pods->pod(i) != nullptr && !facts.end_is_known(i) && (facts.failed() || member.awaited || member.primary)) return true;
  }
  return false;
}

bool EndWait::primary_was_read(const JobFacts& facts) const {
  for (MemberIndex i = 0; i < m_rules.members.size(); ++i) {
    if (!m_rules.members[i].primary) continue;
    const auto attempts = (*facts.members)[i].attempts;
    if (attempts == 0 || m_logs.read_whole(i) != attempts) return false;
  }
  return true;
}

void EndWait::tell_of_awaited_logs() const {
  for (const auto member : m_logs.without_end())
    m_actions.info(fmt::format("waiting up to {} for the end of the log of {}", describe(m_job_rules.log_end - m_job_rules.settle),
                               m_rules.members[member].name));
}

void EndWait::warn_of_logs_without_end() const {
  for (const auto member : m_logs.without_end())
    m_actions.warn(fmt::format("{}: the end of its log could not be read in time", m_rules.members[member].name));
}

void EndWait::warn_of_missing_log(const JobFacts& facts) const {
  if (!facts.hidden.empty()) return;
  for (MemberIndex i = 0; i < m_rules.members.size(); ++i)
    if (m_rules.members[i].primary && facts.pods->pod(i) == nullptr && !facts.end_is_known(i))
      m_actions.warn(fmt::format("{}: its pods are gone: cannot read its log and the metrics in it", m_rules.members[i].name));
}

}  // namespace trainstep::follow
