// JobRunState: pods, the attempts in them, and their logs.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "follow/job_run_state.h"
#include "follow/termination.h"
#include "follow/triage.h"

namespace trainstep::follow {

using Life = MemberState::Life;
using job_types::ContainerView;
using State = job_types::Judgement::State;

namespace {

constexpr Duration beside_is_told{60'000};  // a sidecar may need a moment to notice that it is alone

std::string attempt_name(const job_types::PodView& pod, const ContainerView& container) { return fmt::format("{}/{}", pod.uid, container.restarts); }

// The container of the program. Kubelets sort by name: the first of several may be any sidecar.
const ContainerView* program_container(const job_types::PodView& pod, const std::string& name) {
  const auto* container = pod.container(name);
  if (container != nullptr || pod.containers.empty() || (!name.empty() && pod.containers.size() > 1)) return container;
  return &pod.containers.front();
}

// It has ended, and the kubelet will restart it.
bool waits_to_restart(const ContainerView& container) { return container.state == ContainerView::State::waiting && container.last; }

const job_types::ContainerStateTerminated* end_of(const ContainerView& container) {
  if (container.state == ContainerView::State::terminated) return container.termination ? &*container.termination : nullptr;
  return waits_to_restart(container) ? &*container.last : nullptr;
}

// Attempts that failed in this pod so far; never decreases.
int failures_in(const ContainerView& container) {
  const auto* end = end_of(container);
  return container.restarts + (end != nullptr && (end->exit_code != 0 || end->signal) ? 1 : 0);
}

}  // namespace

void JobRunState::on(const PodSeen& seen, Time at) {
  auto& slot = m_slots.at(seen.member);
  m_primary_seen = m_primary_seen || m_rules.members[seen.member].primary;
  remember_runs(seen, at);
  if (slot.pod && slot.pod->uid != seen.pod.uid) {
    if (is_older(seen.pod, slot)) return look_at_left_pod(seen);
    leave_pod(seen.member, seen.pod.name == slot.pod->name);
  }
  slot.pod = std::make_unique<job_types::PodView>(seen.pod);
  look_at_pod(seen.member, at);
  look_at_pending(seen.member, at);
  await_explanation(slot);
  evaluate(at);
}

// How long the primary of an adopted job has run before: its limit continues from there.
void JobRunState::remember_runs(const PodSeen& seen, Time at) {
  if (!m_adopted || !m_rules.members[seen.member].primary) return;
  const auto* container = program_container(seen.pod, m_rules.members[seen.member].container);
  if (container == nullptr) return;
  const auto known = m_runs.size();
  const auto remember = [&](int attempt, std::optional<Time> from, std::optional<Time> to) {
    if (!from) return;
    // The clock of a node may be behind: nothing runs before its pod was created and scheduled. Durations that it measured itself are right.
    const auto first = std::max(seen.pod.created.value_or(*from), seen.pod.scheduled.value_or(*from));
    const auto behind = std::max(first - *from, Time::duration{});
    if (*from + behind < *m_adopted) m_runs[fmt::format("{}/{}", seen.pod.uid, attempt)] = {*from + behind, to ? std::optional(*to + behind) : to};
  };
  if (container->last) remember(container->restarts - (waits_to_restart(*container) ? 0 : 1), container->last->started, container->last->finished);
  if (container->termination) remember(container->restarts, container->termination->started, container->termination->finished);
  remember(container->restarts, container->started, std::nullopt);
  if (m_runs.size() > known && m_timeline.current() == result::Phase::running) start_phase_timer(result::Phase::running, at);
}

void JobRunState::on(const PodGone& gone, Time at) {
  auto& slot = m_slots.at(gone.member);
  if (!slot.pod || slot.pod->uid != gone.uid) return end_left_log(gone.member, gone.uid, true);
  if (slot.began && !slot.ended) {
    slot.pod->deleting = true;
    auto ending = termination_of(*slot.pod, nullptr);
    if (ending.reason.empty()) ending.reason = "its pod was deleted";
    attempt_ends(gone.member, std::move(ending), at);
  }
  leave_pod(gone.member, true);
  slot.pod.reset();
  evaluate(at);
}

// Times are in whole seconds: of two pods of the same second, the older is the one being deleted, then the one that has ended, then the one that was
// seen first.
bool JobRunState::is_older(const job_types::PodView& pod, const Slot& slot) {
  const auto& newest = *slot.pod;
  if (pod.created != newest.created) return pod.created < newest.created;
  if (slot.replaced.contains(pod.uid)) return true;
  if (pod.deleting != newest.deleting) return pod.deleting;
  return pod.over() && !newest.over();
}

// What was logged of it is kept; what follows comes from another pod. A program that is being stopped still writes during its grace, while the pod
// that replaces it exists already (a Job's podReplacementPolicy: TerminatingOrFailed).
void JobRunState::leave_pod(MemberIndex member, bool gone) {
  auto& slot = m_slots[member];
  slot.replaced.insert(slot.pod->uid);
  if (slot.began && !slot.ended && !gone)
    slot.left[slot.pod->uid] = slot.attempt;
  else
    end_log(member, false, gone);
  replaced(member);
  slot.attempt.clear();
  slot.began = slot.ended = false;
  slot.failures = 0;
  slot.pending.reset();
  slot.trouble = {};
  slot.going_told = false;
}

void JobRunState::look_at_left_pod(const PodSeen& seen) {
  const auto* container = program_container(seen.pod, m_rules.members[seen.member].container);
  if (seen.pod.over() || (container != nullptr && end_of(*container) != nullptr)) end_left_log(seen.member, seen.pod.uid, false);
}

void JobRunState::end_left_log(MemberIndex member, const std::string& uid, bool gone) {
  const auto& left = m_slots[member].left;
  if (const auto found = left.find(uid); found != left.end()) end_log_of(member, found->second, false, gone);
}

void JobRunState::look_at_pod(MemberIndex member, Time at) {
  auto& slot = m_slots[member];
  const auto& pod = *slot.pod;
  m_members[member].place = pod.node;
  if (const auto* container = program_container(pod, m_rules.members[member].container)) look_at_attempt(member, *container, at);
  count_failures(member);
  if (slot.ended || !pod.over()) return;
  if (!slot.began && failed_init_container(pod) != nullptr) open_init_log(member);
  attempt_ends(member, termination_of(pod, nullptr), at);
}

void JobRunState::look_at_attempt(MemberIndex member, const ContainerView& container, Time at) {
  auto& slot = m_slots[member];
  const auto* end = end_of(container);
  if (end == nullptr && container.state != ContainerView::State::running) return;
  if (!slot.began || slot.attempt != attempt_name(*slot.pod, container)) {
    if (slot.began) {  // restarted in place
      if (!slot.ended && container.last) attempt_ends(member, termination_of(*slot.pod, &*container.last), container.last->finished.value_or(at));
      end_log(member, true);
      replaced(member);
    }
    attempt_begins(member, container, at);
  }
  if (end != nullptr && !slot.ended) attempt_ends(member, termination_of(*slot.pod, end), end->finished.value_or(at));
}

void JobRunState::attempt_begins(MemberIndex member, const ContainerView& container, Time at) {
  auto& slot = m_slots[member];
  auto& state = m_members[member];
  const bool first_of_pod = !slot.began;
  const int missed = first_of_pod ? container.restarts : 0;
  if (state.attempts + missed > 0) say(fmt::format("{} restarted (attempt {})", m_rules.members[member].name, state.attempts + missed + 1));
  if (missed > 0) remember_last(member, container, at);
  slot.attempt = attempt_name(*slot.pod, container);
  slot.began = true;
  slot.ended = false;
  state.attempts += 1 + missed;
  state.life = Life::running;
  state.ending.reset();
  state.ended.reset();
  state.tail.clear();
  const auto* end = end_of(container);
  state.started = (end != nullptr ? end->started : container.started).value_or(at);
  m_last_sign_of_life = at;
  if (shown(member) || m_rules.members[member].primary) open_log(member);
}

// For a pod that was first seen when it was running, or had run, again: all that is known of the attempt before is how it ended.
void JobRunState::remember_last(MemberIndex member, const ContainerView& container, Time at) {
  auto& slot = m_slots[member];
  if (container.state == ContainerView::State::waiting || !container.last) return;
  auto ending = termination_of(*slot.pod, &*container.last);
  if (ending.succeeded()) return;
  auto& earlier = slot.earlier.emplace();
  earlier.life = Life::failed;
  earlier.place = slot.pod->node;
  earlier.attempts = container.restarts;
  earlier.ending = std::move(ending);
  earlier.started = container.last->started;
  earlier.ended = container.last->finished.value_or(at);
  slot.earlier_attempt = fmt::format("{}/{}", slot.pod->uid, container.restarts - 1);
}

void JobRunState::attempt_ends(MemberIndex member, Termination ending, Time at) {
  auto& slot = m_slots[member];
  auto& state = m_members[member];
  const bool stopped = stopped_by_deletion(*slot.pod, ending);
  slot.ended = true;
  if (stopped && m_judgement.state == State::suspended) {  // nothing has ended
    state.life = Life::waiting;
    return end_log(member, false);
  }
  state.life = ending.succeeded() ? Life::succeeded : stopped ? Life::stopped : Life::failed;
  if (state.attempts == 0) state.attempts = 1;
  state.ending = std::move(ending);
  state.ended = at;
  m_last_sign_of_life = at;
  if (state.life == Life::failed) tell_failure(member);
  end_log(member, false);
  if (state.ending->repeated && m_rules.members[member].primary) go_back_to_metrics(member);
  start_timer(waits_beside, beside_is_told);
}

// A gang dies together: after the first few, the others are only counted (failure_verdict). The log is read of every member that may be the first.
void JobRunState::tell_failure(MemberIndex member) {
  constexpr int told_one_by_one = 5;
  if (m_verdict) return;  // ended by us
  if (!m_over && ++m_failures_told <= told_one_by_one) say(describe(first_failure(m_rules, m_members, member)));
  if (!m_over && m_failures_told == told_one_by_one + 1) say("more replicas failed");
  const auto first = first_to_fail();
  if (first && first->member == member && m_slots[member].began) open_log(member);
}

// What counts against backoff_limit if the operator does not enforce it; not what happened to the pod from outside.
void JobRunState::count_failures(MemberIndex member) {
  auto& slot = m_slots[member];
  const auto& pod = *slot.pod;
  int now = 0;
  if (const auto* container = program_container(pod, m_rules.members[member].container)) now += failures_in(*container);
  for (const auto& container : pod.init_containers)
    if (!container.sidecar) now += failures_in(container);
  if (now > slot.failures && !pod.disrupted() && !pod.deleting) m_failures += now - slot.failures;
  slot.failures = std::max(slot.failures, now);
}

// A failed attempt is replaced by the next one: it is remembered, because the job may be given up because of it.
void JobRunState::replaced(MemberIndex member) {
  auto& slot = m_slots[member];
  auto& state = m_members[member];
  if (!slot.ended || state.life != Life::failed) return;
  slot.earlier = state;
  slot.earlier_attempt = slot.attempt;
}

void JobRunState::open_log(MemberIndex member) {
  const auto& slot = m_slots[member];
  const auto [log, opened] = m_logs.try_emplace({member, slot.attempt});
  if (!opened) return;
  log->second.metrics = true;
  m_metrics.begin(member, slot.attempt);
  const auto& wanted = m_rules.members[member].container;
  const auto* container = program_container(*slot.pod, wanted);
  m_actions.add(FollowLog{member, slot.attempt, slot.pod->name, container == nullptr ? wanted : container->name, false});
}

// It says why the program could not start.
void JobRunState::open_init_log(MemberIndex member) {
  auto& slot = m_slots[member];
  const auto* container = failed_init_container(*slot.pod);
  slot.attempt = fmt::format("{}/{}", slot.pod->uid, container->name);
  if (!m_logs.try_emplace({member, slot.attempt}).second) return;
  say(fmt::format("{}: the log of its init container {} follows", m_rules.members[member].name, container->name));
  m_actions.add(FollowLog{member, slot.attempt, slot.pod->name, container->name, false});
}

// A pod was lost between its delivery and its end: its output is that of the training, the output of the pod after it is not.
void JobRunState::go_back_to_metrics(MemberIndex member) {
  const auto resumed = m_metrics.resume();
  if (resumed == AttemptMetrics::Resumed::well) return;
  const auto logs = m_logs.size();
  if (resumed == AttemptMetrics::Resumed::unseen) open_previous_log(member);
  if (m_logs.size() > logs) {
    m_logs[{member, m_slots[member].earlier_attempt}].metrics = true;
    return m_metrics.begin(member, m_slots[member].earlier_attempt);
  }
  warn(fmt::format("{}: the training finished in an attempt whose metrics are unknown; they may be missing", m_rules.members[member].name));
}

// The log of an attempt that nobody followed, in a container that has been restarted since.
void JobRunState::open_previous_log(MemberIndex member) {
  const auto& slot = m_slots[member];
  const auto* container = slot.pod ? program_container(*slot.pod, m_rules.members[member].container) : nullptr;
  if (container == nullptr || slot.earlier_attempt != fmt::format("{}/{}", slot.pod->uid, container->restarts - 1)) return;
  const auto [log, opened] = m_logs.try_emplace({member, slot.earlier_attempt});
  if (!opened) return;
  log->second.ending = true;
  m_actions.add(FollowLog{member, slot.earlier_attempt, slot.pod->name, container->name, true});
  m_actions.add(EndLog{member, slot.earlier_attempt, false});
}

void JobRunState::end_log(MemberIndex member, bool restarted, bool gone) { end_log_of(member, m_slots[member].attempt, restarted, gone); }

void JobRunState::end_log_of(MemberIndex member, const std::string& attempt, bool restarted, bool gone) {
  const auto log = m_logs.find({member, attempt});
  if (log == m_logs.end() || log->second.complete || (log->second.ending && !restarted && !gone)) return;
  log->second.ending = true;
  m_actions.add(EndLog{member, attempt, restarted, gone});
}

// Programs that have ended in pods that have not: names what the pods wait for.
std::string JobRunState::goes_on_beside() const {
  for (MemberIndex i = 0; i < m_slots.size(); ++i) {
    if (!m_slots[i].ended || !m_slots[i].pod || m_slots[i].pod->over() || m_slots[i].pod->deleting) continue;
    const auto* program = program_container(*m_slots[i].pod, m_rules.members[i].container);
    if (program == nullptr || program->state != ContainerView::State::terminated) continue;
    for (const auto& container : m_slots[i].pod->containers)
      if (container.state == ContainerView::State::running)
        return fmt::format("the program of {} has ended, but its pod waits for the container {}", m_rules.members[i].name, container.name);
  }
  return {};
}

// Programs that have succeeded in pods that have not: a container that was added next to one fails its pod as well.
std::string JobRunState::failed_beside() const {
  for (MemberIndex i = 0; i < m_slots.size(); ++i) {
    if (!m_slots[i].pod || m_members[i].life != Life::succeeded) continue;
    const auto* program = program_container(*m_slots[i].pod, m_rules.members[i].container);
    for (const auto& container : m_slots[i].pod->containers)
      if (&container != program && container.termination && container.termination->exit_code != 0)
        return fmt::format("the program of {} exited with code 0, but the container {} next to it failed (exit code {})", m_rules.members[i].name,
                           container.name, container.termination->exit_code);
  }
  return {};
}

}  // namespace trainstep::follow
