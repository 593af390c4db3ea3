// SPDX-License-Identifier: Apache-2.0
#include "follow/phase_clock.h"

#include <fmt/format.h>

#include <algorithm>

#include "follow/job_timers.h"
#include "follow/pod_attempts.h"

namespace trainstep::follow {

namespace {

std::optional<Duration> phase_limit(const plan::Limits& limits, result::Phase phase) {
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

void PhaseClock::begin(Time at) {
  m_began = at;
  m_timeline.enter(result::Phase::queued, at);
  m_actions.start_timer(JobTimer::limit_total, m_rules.limits.total);
}

void PhaseClock::see(const JobFound& found, Time at) {
  m_found = at;
  if (!found.adopted || !found.created) return;
  const auto created = *found.created;
  m_adopted = {created, std::max(at + found.clock.value_or(Duration{}), created)};
  if (const auto& total = m_rules.limits.total) m_actions.start_timer(JobTimer::limit_total, std::max(*total - whole(at), Duration{}));
}

void PhaseClock::enter(result::Phase phase, const JobPods& pods, Time at) {
  if (m_timeline.current() == phase) return;
  const auto before = m_timeline.current();
  const auto took = m_timeline.in_current(at);
  m_timeline.enter(phase, at);
  start_timer(phase, pods, at);
  if (phase == result::Phase::finishing) return;
  m_actions.info(before ? fmt::format("{} (after {} {})", name(phase), describe(took), name(*before)) : std::string(name(phase)));
}

void PhaseClock::start_timer(result::Phase phase, const JobPods& pods, Time at) {
  const auto limit = phase_limit(m_rules.limits, phase);
  if (limit) m_actions.start_timer(JobTimer::limit_phase + static_cast<int>(phase), std::max(*limit - spent(phase, pods, at), Duration{}));
}

std::optional<Duration> PhaseClock::exceeded(result::Phase phase, const JobPods& pods, Time at) {
  const auto limit = phase_limit(m_rules.limits, phase);
  if (!limit || spent(phase, pods, at) >= *limit) return limit;
  start_timer(phase, pods, at);
  return std::nullopt;
}

std::optional<Duration> PhaseClock::total_exceeded(Time at) const {
  const auto& total = m_rules.limits.total;
  return total && whole(at) >= *total ? total : std::nullopt;
}

bool PhaseClock::remember_runs(const job_types::PodView& pod, const std::string& container_name) {
  const auto* container = program_container(pod, container_name);
  if (!m_adopted || container == nullptr) return false;
  const auto found = m_adopted->found;
  const auto known = m_runs.size();
  const auto remember = [&](int attempt, std::optional<Time> from, std::optional<Time> to) {
    if (!from) return;
    // The clock of a node may be behind: nothing runs before its pod was created and scheduled. Durations that it measured itself are right.
    const auto first = std::max(pod.created.value_or(*from), pod.scheduled.value_or(*from));
    const auto behind = std::max(first - *from, Time::duration{});
    if (*from + behind < found) m_runs[fmt::format("{}/{}", pod.uid, attempt)] = {*from + behind, to ? std::optional(*to + behind) : to};
  };
  if (const auto& last = container->last) remember(container->restarts - (waits_to_restart(*container) ? 0 : 1), last->started, last->finished);
  if (const auto& end = container->termination) remember(container->restarts, end->started, end->finished);
  remember(container->restarts, container->started, std::nullopt);
  return m_runs.size() > known;
}

// Before the job existed, it was not queued.
Duration PhaseClock::spent(result::Phase phase, const JobPods& pods, Time at) const {
  const auto unfound = phase == result::Phase::queued && m_found ? *m_found - m_began : Duration{};
  return std::max(m_timeline.spent_in(phase, at) - unfound, Duration{}) + (m_adopted ? before(phase, *m_adopted, pods) : Duration{});
}

Duration PhaseClock::between(const Adopted& job, Time from, const std::optional<Time>& to) {
  return std::max(std::min(to.value_or(job.found), job.found) - std::max(from, job.created), Duration{});
}

// The time that it had spent in a phase when it was found, as far as its pods show. If they were recreated, only the current ones are known.
Duration PhaseClock::before(result::Phase phase, const Adopted& job, const JobPods& pods) const {
  using enum result::Phase;
  auto made = job.found;              // the first pod
  std::optional<Time> placed, began;  // the last one that has a node; the program of the primary
  bool all_placed = true;
  for (MemberIndex i = 0; i < pods.size(); ++i) {
    const auto* pod = pods.pod(i);
    all_placed = all_placed && pod != nullptr && !pod->node.empty();
    if (pod == nullptr) continue;
    made = std::min(made, pod->created.value_or(made));
    if (pod->scheduled) placed = std::max(placed.value_or(*pod->scheduled), *pod->scheduled);
  }
  if (!all_placed) placed.reset();
  Duration ran{};
  for (const auto& [attempt, times] : m_runs) {
    began = std::min(began.value_or(times.first), times.first);
    ran += std::max(std::min(times.second.value_or(job.found), job.found) - times.first, Duration{});
  }
  switch (phase) {
    case queued:
      return between(job, job.created, made);
    case scheduling:
      return between(job, made, placed);
    case starting:
      return placed ? between(job, *placed, began) : Duration{};
    case running:
      return ran;
    case finishing:
      break;
  }
  return {};
}

Duration PhaseClock::whole(Time at) const {
  if (m_adopted && m_found) return (m_adopted->found - m_adopted->created) + (at - *m_found);
  return at - m_began;
}

}  // namespace trainstep::follow
