// SPDX-License-Identifier: Apache-2.0
#include "follow/job_facts.h"

#include <chrono>

#include "job_types/conditions.h"

namespace trainstep::follow {

using Life = MemberState::Life;

bool JobFacts::awaited_have_succeeded() const {
  bool any = false;
  for (MemberIndex i = 0; i < members->size(); ++i) {
    if (!rules->members[i].awaited) continue;
    if ((*members)[i].life != Life::succeeded) return false;
    any = true;
  }
  return any;
}

bool JobFacts::primary_is_unseen() const {
  for (MemberIndex i = 0; i < members->size(); ++i)
    if (rules->members[i].primary && pods->pod(i) != nullptr && !pods->began(i)) return true;
  return false;
}

bool JobFacts::is_success_unconfirmed() const { return succeeded() && judgement->reason == job_types::uncounted && !pods->primary_was_seen(); }

bool JobFacts::end_is_known(MemberIndex member) const {
  const auto life = (*members)[member].life;
  return life == Life::succeeded || life == Life::failed || life == Life::stopped;
}

std::optional<Culprit> JobFacts::first_to_fail() const { return follow::first_to_fail(*members, pods->earlier(), *judgement); }

std::optional<MemberIndex> JobFacts::taken() const {
  std::optional<MemberIndex> found;
  Time earliest;
  for (MemberIndex i = 0; i < members->size(); ++i) {
    const auto* pod = pods->pod(i);
    if (pod == nullptr || !pod->disrupted() || (*members)[i].life == Life::succeeded) continue;
    const auto at = pod->disrupted_at.value_or(Time{});
    if (!found || at < earliest) found = i, earliest = at;
  }
  return found;
}

std::optional<MemberIndex> JobFacts::taken_first() const {
  const auto who = taken();
  if (!who || end_is_known(*who)) return std::nullopt;
  const auto first = first_to_fail();
  const auto marked = pods->pod(*who)->disrupted_at;
  const bool before = first && (!marked || std::chrono::floor<std::chrono::seconds>(first->state->ended.value_or(Time{})) < *marked);
  return before ? std::nullopt : who;
}

}  // namespace trainstep::follow
