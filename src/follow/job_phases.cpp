// JobRunState: phases and limits.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "follow/job_run_state.h"

namespace trainstep::follow {

using Life = MemberState::Life;
using State = job_types::Judgement::State;

namespace {

constexpr Duration unheeded_is_told{120'000};

std::optional<Duration> limit_of(const plan::Limits& limits, result::Phase phase) {
  using enum result::Phase;
  switch (phase) {
    case queued:
      return limits.queued;
    case scheduling:
      return limits.scheduling;
    case starting:
      return limits.starting;
    case running:
      return limits.running;
    case finishing:
      return limits.finishing;
  }
  return std::nullopt;
}

}  // namespace

void JobRunState::evaluate(Time at) {
  if (m_verdict || !m_found) return;
  if (m_over) return conclude_when_settled(at);
  if (m_judgement.state == State::succeeded || m_judgement.state == State::failed) return job_ended(at);
  if (m_deleting) return;  // its pods are being deleted: that they are missing is neither a new phase nor a fault of the operator
  enter_phase(phase_now(), at);
  check_pending(at);
  if (!m_verdict) check_restarts(at);
}

result::Phase JobRunState::phase_now() const {
  using enum result::Phase;
  if (m_judgement.state == State::suspended) return queued;
  if (awaited_have_succeeded()) return finishing;
  std::size_t there = 0, placed = 0;
  bool primary_there = false, primary_began = false;
  for (MemberIndex i = 0; i < m_slots.size(); ++i) {
    const auto& slot = m_slots[i];
    if (slot.pod) ++there;
    if ((slot.pod && !slot.pod->node.empty()) || m_members[i].life == Life::succeeded) ++placed;
    if (!m_rules.members[i].primary) continue;
    primary_there = slot.pod != nullptr;
    primary_began = slot.began;
  }
  // If the pods cannot be seen, the status of the job is all that is known.
  if (there == 0 && !m_hidden.empty() && m_judgement.state == State::running) return running;
  if (there == 0) return queued;
  const auto needed = m_job_rules.needed == 0 ? m_slots.size() : m_job_rules.needed;
  const bool by_quota = std::ranges::any_of(
      m_warnings, [](const Warning& warning) { return !warning.stale && warning.pending && warning.pending->kind == Pending::Kind::quota; });
  if (there < needed && by_quota) return queued;
  if (placed >= needed) return primary_began ? running : starting;
  // The MPI launcher is created when all workers are ready: until then its pod is not missing.
  const bool only_primary_is_missing = !primary_there && placed + 1 == needed && placed > 0;
  return only_primary_is_missing ? starting : scheduling;
}

bool JobRunState::awaited_have_succeeded() const {
  bool any = false;
  for (MemberIndex i = 0; i < m_members.size(); ++i) {
    if (!m_rules.members[i].awaited) continue;
    if (m_members[i].life != Life::succeeded) return false;
    any = true;
  }
  return any;
}

// Its pod exists, and was not seen running: nothing of its log has been read.
bool JobRunState::primary_is_unseen() const {
  for (MemberIndex i = 0; i < m_members.size(); ++i)
    if (m_rules.members[i].primary && m_slots[i].pod && !m_slots[i].began) return true;
  return false;
}

void JobRunState::enter_phase(result::Phase phase, Time at) {
  if (m_timeline.current() == phase) return;
  const auto before = m_timeline.current();
  const auto took = m_timeline.in_current(at);
  m_timeline.enter(phase, at);
  start_phase_timer(phase, at);
  if (phase == result::Phase::finishing) return;
  say(before ? fmt::format("{} (after {} {})", name(phase), describe(took), name(*before)) : std::string(name(phase)));
}

void JobRunState::start_phase_timer(result::Phase phase, Time at) {
  const auto limit = limit_of(m_rules.limits, phase);
  if (!limit) return;
  start_timer(limit_phase + static_cast<int>(phase), std::max(*limit - spent(phase, at), Duration{}));
}

// Before the job existed, it was not queued.
Duration JobRunState::spent(result::Phase phase, Time at) const {
  const auto before = phase == result::Phase::queued && m_found ? *m_found - m_began : Duration{};
  return std::max(m_timeline.spent_in(phase, at) - before, Duration{}) + earlier(phase);
}

// The time that an adopted job had spent in a phase when it was found, as far as its pods tell. If they were recreated, only the present ones are
// known.
Duration JobRunState::earlier(result::Phase phase) const {
  using enum result::Phase;
  if (!m_adopted) return {};
  auto made = *m_adopted;             // the first pod
  std::optional<Time> placed, began;  // the last one that has a node; the program of the primary
  for (const auto& slot : m_slots) {
    if (slot.pod && slot.pod->created) made = std::min(made, *slot.pod->created);
    if (slot.pod && slot.pod->scheduled) placed = std::max(placed.value_or(*slot.pod->scheduled), *slot.pod->scheduled);
  }
  if (std::ranges::any_of(m_slots, [](const Slot& slot) { return !slot.pod || slot.pod->node.empty(); })) placed.reset();
  Duration ran{};
  for (const auto& [attempt, times] : m_runs) {
    began = std::min(began.value_or(times.first), times.first);
    ran += std::max(std::min(times.second.value_or(*m_adopted), *m_adopted) - times.first, Duration{});
  }
  const auto between = [this](Time from, std::optional<Time> to) {
    return std::max(std::min(to.value_or(*m_adopted), *m_adopted) - std::max(from, *m_created), Duration{});
  };
  switch (phase) {
    case queued:
      return between(*m_created, made);
    case scheduling:
      return between(made, placed);
    case starting:
      return placed ? between(*placed, began) : Duration{};
    case running:
      return ran;
    case finishing:
      break;
  }
  return {};
}

// All phases together.
Duration JobRunState::whole(Time at) const { return m_adopted ? (*m_adopted - *m_created) + (at - *m_found) : at - m_began; }

void JobRunState::look_again() {
  if (!std::exchange(m_looking, true)) m_actions.add(LookAgain{});
}

void JobRunState::looked(Time at) {
  m_looking = false;
  m_fresh = true;
  if (std::exchange(m_operator_is_due, false)) check_operator(at);
  if (std::exchange(m_limit_is_due, false)) check_limits(at);
  if (std::exchange(m_deletion_is_due, false)) check_deletion(at);
  evaluate(at);
  m_fresh = false;
}

void JobRunState::start_operator_timer() {
  m_unheeded_told = !m_job_rules.looks_on && m_job_rules.operator_absent <= unheeded_is_told;  // it is final before
  start_timer(operator_absent, std::min(m_job_rules.operator_absent, unheeded_is_told));
}

void JobRunState::check_operator(Time at) {
  const bool pods = std::ranges::any_of(m_slots, [](const Slot& slot) { return slot.pod != nullptr; });
  if (m_verdict || m_over || m_deleting || m_unreachable || m_judgement.state != State::unknown || pods || !m_hidden.empty() || !m_warnings.empty())
    return;
  if (!std::exchange(m_unheeded_told, true)) {
    const auto left = m_job_rules.operator_absent - unheeded_is_told;
    warn(fmt::format("no controller has picked up {} yet: no status, no pods, no event for {}; is the operator of this kind running?{}",
                     m_job_rules.job, describe(unheeded_is_told), m_job_rules.looks_on ? "" : fmt::format(" waiting another {}", describe(left))));
    return start_timer(operator_absent, left);
  }
  if (m_job_rules.looks_on) return;
  if (!m_fresh) {
    m_operator_is_due = true;
    return look_again();
  }
  decide({result::VerdictClass::system,
          fmt::format("no controller has picked up {}: no status, no pods, no event for {}; is the operator of this kind running?", m_job_rules.job,
                      describe(m_job_rules.operator_absent)),
          std::nullopt, true, 0},
         at, true);
}

void JobRunState::check_restarts(Time at) {
  if (!m_restarts_are_ours || m_failures <= m_rules.policy.backoff_limit) return;
  // Its operator treats these exit codes as permanent, and ends the job itself.
  if (const auto first = first_to_fail(); m_rules.policy.restart_policy == "ExitCode" && first) {
    const auto code = first->state->end().exit_code;
    if (code > 0 && code < 128) return;
  }
  m_gave_up = true;
  m_judgement = {State::failed, "BackoffLimitExceeded", fmt::format("job_options.run_policy.backoff_limit is {}", m_rules.policy.backoff_limit)};
  job_ended(at);
}

void JobRunState::check_limits(Time at) {
  const auto passed = [&](std::string_view phase, Duration limit, bool capacity) {
    if (m_found && !m_fresh && !m_unreachable) {
      m_limit_is_due = true;
      return look_again();
    }
    const auto verdict_class = capacity ? result::VerdictClass::capacity : result::VerdictClass::timeout;
    // An obstacle that would have become final is the reason, even if it appeared late in the phase.
    const bool known = m_pending && m_pending->limit && phase != "running" && phase != "total";
    decide({known ? m_pending->verdict_class : verdict_class,
            fmt::format("the limit of {} for {} ({}) was exceeded{}", describe(limit), phase == "total" ? "the whole step" : phase,
                        limit_option(m_rules, phase), m_pending ? "; " + m_pending->what() : ""),
            std::nullopt, capacity, 0},
           at, true);
  };
  if (m_verdict || m_over) return;  // the rest is short and has its own limit
  if (m_rules.limits.total && whole(at) >= *m_rules.limits.total) return passed("total", *m_rules.limits.total, false);
  const auto phase = m_timeline.current();
  if (!phase) return;
  evaluate(at);  // if it has a cause, the job ends because of that, and the cause is reported instead of the limit
  if (m_verdict || m_over || m_timeline.current() != phase) return;
  const auto limit = limit_of(m_rules.limits, *phase);
  if (!limit) return;
  if (spent(*phase, at) < *limit) return start_phase_timer(*phase, at);
  passed(name(*phase), *limit, *phase == result::Phase::queued || *phase == result::Phase::scheduling);
}

}  // namespace trainstep::follow
