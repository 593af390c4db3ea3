// SPDX-License-Identifier: Apache-2.0
#include "follow/job_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "follow/first_to_fail.h"
#include "follow/job_timers.h"
#include "follow/pod_attempts.h"
#include "follow/termination.h"
#include "follow/triage.h"

namespace trainstep::follow {

using Life = MemberState::Life;
using job_types::ContainerView;

namespace {

constexpr Duration beside_is_told{60'000};  // a sidecar may need a moment to notice that it is alone

}  // namespace

JobPods::JobPods(const Rules& rules, Followed followed, std::vector<MemberState>& members, JobLogs& logs, AttemptMetrics& metrics, Actions& actions)
    : m_rules(rules),
      m_followed(std::move(followed)),
      m_members(members),
      m_logs(logs),
      m_metrics(metrics),
      m_actions(actions),
      m_slots(m_members.size()) {}

JobPods::Change JobPods::see(const PodSeen& seen, const Stage& stage, Time at) {
  auto& slot = m_slots.at(seen.member);
  m_stage = stage;
  m_sign_of_life.reset();
  m_primary_seen = m_primary_seen || m_rules.members[seen.member].primary;
  if (slot.pod && slot.pod->uid != seen.pod.uid) {
    if (is_older(seen.pod, slot)) {
      const auto* container = program_container(seen.pod, m_rules.members[seen.member].container);
      if (seen.pod.over() || (container != nullptr && end_of(*container) != nullptr)) end_left_log(seen.member, seen.pod.uid, false);
      return {};
    }
    leave_pod(seen.member, seen.pod.name == slot.pod->name);
  }
  slot.pod = std::make_unique<job_types::PodView>(seen.pod);
  handle_pod(seen.member, at);
  return {.newest = true, .sign_of_life = m_sign_of_life};
}

JobPods::Change JobPods::gone(const PodGone& gone, const Stage& stage, Time at) {
  auto& slot = m_slots.at(gone.member);
  m_stage = stage;
  m_sign_of_life.reset();
  if (!slot.pod || slot.pod->uid != gone.uid) {
    end_left_log(gone.member, gone.uid, true);
    return {};
  }
  if (slot.began && !slot.ended) {
    slot.pod->deleting = true;
    auto ending = termination_of(*slot.pod, nullptr);
    if (ending.reason.empty()) ending.reason = "its pod was deleted";
    attempt_ends(gone.member, std::move(ending), at);
  }
  leave_pod(gone.member, true);
  slot.pod.reset();
  return {.newest = true, .sign_of_life = m_sign_of_life};
}

void JobPods::suspended() {
  for (MemberIndex i = 0; i < m_slots.size(); ++i) {
    auto& state = m_members[i];
    if (state.life != Life::succeeded) state.life = m_slots[i].began && !m_slots[i].ended ? Life::running : Life::waiting;
    if (state.life != Life::succeeded) state.ending.reset();
    m_slots[i].earlier.reset();
  }
}

bool JobPods::any() const {
  return std::ranges::any_of(m_slots, [](const Slot& slot) { return slot.pod != nullptr; });
}

bool JobPods::all() const {
  return std::ranges::all_of(m_slots, [](const Slot& slot) { return slot.pod != nullptr; });
}

std::vector<const MemberState*> JobPods::earlier() const {
  std::vector<const MemberState*> states;
  states.reserve(m_slots.size());
  for (const auto& slot : m_slots) states.push_back(slot.earlier ? &*slot.earlier : nullptr);
  return states;
}

result::Tail* JobPods::tail_for(const MemberOutput& output) {
  auto& slot = m_slots.at(output.member);
  const bool of_earlier = slot.earlier && !output.attempt.empty() && output.attempt == slot.earlier_attempt && output.attempt != slot.attempt;
  if (slot.earlier && of_earlier) return &slot.earlier->tail;
  const bool of_left = std::ranges::any_of(slot.left, [&](const auto& left) { return left.second == output.attempt; });
  return of_left ? nullptr : &m_members[output.member].tail;
}

// Times are in whole seconds: of two pods of the same second, the older is the one being deleted, then the one that has ended, then the one that was
// seen first.
bool JobPods::is_older(const job_types::PodView& pod, const Slot& slot) {
  const auto& newest = *slot.pod;
  if (pod.created != newest.created) return pod.created < newest.created;
  if (slot.replaced.contains(pod.uid)) return true;
  if (pod.deleting != newest.deleting) return pod.deleting;
  return pod.over() && !newest.over();
}

// What was logged of it is kept; what follows comes from another pod. A program that is being stopped still writes during its grace, while the pod
// that replaces it exists already (a Job's podReplacementPolicy: TerminatingOrFailed).
void JobPods::leave_pod(MemberIndex member, bool gone) {
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
}

void JobPods::end_left_log(MemberIndex member, const std::string& uid, bool gone) {
  const auto& left = m_slots[member].left;
  if (const auto found = left.find(uid); found != left.end()) m_logs.end(member, found->second, false, gone);
}

void JobPods::handle_pod(MemberIndex member, Time at) {
  auto& slot = m_slots[member];
  const auto& pod = *slot.pod;
  m_members[member].ran_on = pod.node;
  if (const auto* container = program_container(pod, m_rules.members[member].container)) look_at_attempt(member, *container, at);
  count_failures(member);
  if (slot.ended || !pod.over()) return;
  if (!slot.began && failed_init_container(pod) != nullptr) open_init_log(member);
  attempt_ends(member, termination_of(pod, nullptr), at);
}

void JobPods::look_at_attempt(MemberIndex member, const ContainerView& container, Time at) {
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

void JobPods::attempt_begins(MemberIndex member, const ContainerView& container, Time at) {
  auto& slot = m_slots[member];
  auto& state = m_members[member];
  const bool first_of_pod = !slot.began;
  const int missed = first_of_pod ? container.restarts : 0;
  if (state.attempts + missed > 0)
    m_actions.info(fmt::format("{} restarted (attempt {})", m_rules.members[member].name, state.attempts + missed + 1));
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
  m_sign_of_life = at;
  if (m_followed[member]) open_log(member);
}

// For a pod that was first seen when it was running, or had run, again: all that is known of the attempt before is how it ended.
void JobPods::remember_last(MemberIndex member, const ContainerView& container, Time at) {
  auto& slot = m_slots[member];
  if (container.state == ContainerView::State::waiting || !container.last) return;
  auto ending = termination_of(*slot.pod, &*container.last);
  if (ending.succeeded()) return;
  auto& earlier = slot.earlier.emplace();
  earlier.life = Life::failed;
  earlier.ran_on = slot.pod->node;
  earlier.attempts = container.restarts;
  earlier.ending = std::move(ending);
  earlier.started = container.last->started;
  earlier.ended = container.last->finished.value_or(at);
  slot.earlier_attempt = previous_attempt_name(*slot.pod, container);
}

void JobPods::attempt_ends(MemberIndex member, Termination ending, Time at) {
  auto& slot = m_slots[member];
  auto& state = m_members[member];
  const bool stopped = stopped_by_deletion(*slot.pod, ending);
  slot.ended = true;
  if (stopped && m_stage.suspended) {  // nothing has ended
    state.life = Life::waiting;
    return end_log(member, false);
  }
  state.life = ending.succeeded() ? Life::succeeded : stopped ? Life::stopped : Life::failed;
  if (state.attempts == 0) state.attempts = 1;
  state.ending = std::move(ending);
  state.ended = at;
  m_sign_of_life = at;
  if (state.life == Life::failed) tell_failure(member);
  end_log(member, false);
  if (state.ending->repeated && m_rules.members[member].primary) go_back_to_metrics(member);
  m_actions.start_timer(JobTimer::waits_beside, beside_is_told);
}

// The members of a gang fail together: after the first few, the others are only counted (failure_verdict). The log is read of every member that may
// be the first.
void JobPods::tell_failure(MemberIndex member) {
  constexpr int told_one_by_one = 5;
  if (m_stage.decided) return;  // ended by us
  if (!m_stage.over && ++m_failures_told <= told_one_by_one) m_actions.info(describe(first_failure(m_rules, m_members, member)));
  if (!m_stage.over && m_failures_told == told_one_by_one + 1) m_actions.info("more replicas failed");
  const auto first = first_failed(m_members);
  if (first && first->member == member && m_slots[member].began) open_log(member);
}

// What counts against backoff_limit if the operator does not enforce it; not what happened to the pod from outside.
void JobPods::count_failures(MemberIndex member) {
  auto& slot = m_slots[member];
  const auto& pod = *slot.pod;
  const int now = failures_in(pod, m_rules.members[member].container);
  if (now > slot.failures && !pod.disrupted() && !pod.deleting) m_failures += now - slot.failures;
  slot.failures = std::max(slot.failures, now);
}

// A failed attempt is replaced by the next one: it is remembered, because the job may be given up because of it.
void JobPods::replaced(MemberIndex member) {
  auto& slot = m_slots[member];
  auto& state = m_members[member];
  if (!slot.ended || state.life != Life::failed) return;
  slot.earlier = state;
  slot.earlier_attempt = slot.attempt;
}

void JobPods::open_log(MemberIndex member) {
  const auto& slot = m_slots[member];
  const auto& wanted = m_rules.members[member].container;
  const auto* container = program_container(*slot.pod, wanted);
  if (!m_logs.open({member, slot.attempt, slot.pod->name, container == nullptr ? wanted : container->name, false})) return;
  m_logs.counts(member, slot.attempt);
  m_metrics.begin(member, slot.attempt);
}

// Its log shows why the program could not start.
void JobPods::open_init_log(MemberIndex member) {
  auto& slot = m_slots[member];
  const auto* container = failed_init_container(*slot.pod);
  slot.attempt = fmt::format("{}/{}", slot.pod->uid, container->name);
  if (m_logs.opened(member, slot.attempt)) return;
  m_actions.info(fmt::format("{}: the log of its init container {} follows", m_rules.members[member].name, container->name));
  m_logs.open({member, slot.attempt, slot.pod->name, container->name, false});
}

// A pod was lost between its delivery and its end: its output is that of the training, the output of the pod after it is not.
void JobPods::go_back_to_metrics(MemberIndex member) {
  using enum AttemptMetrics::Resumed;
  const auto resumed = m_metrics.resume();
  if (resumed == well) return;
  if (resumed == unseen && open_previous_log(member)) {
    m_logs.counts(member, m_slots[member].earlier_attempt);
    return m_metrics.begin(member, m_slots[member].earlier_attempt);
  }
  m_actions.warn(
      fmt::format("{}: the metrics of the attempt that finished the training are unknown and may be missing", m_rules.members[member].name));
}

// The log of an attempt that was not followed, in a container that has been restarted since.
bool JobPods::open_previous_log(MemberIndex member) {
  const auto& slot = m_slots[member];
  const auto* container = slot.pod ? program_container(*slot.pod, m_rules.members[member].container) : nullptr;
  if (container == nullptr || slot.earlier_attempt != previous_attempt_name(*slot.pod, *container)) return false;
  return m_logs.open_ended({member, slot.earlier_attempt, slot.pod->name, container->name, true});
}

void JobPods::end_log(MemberIndex member, bool restarted, bool gone) { m_logs.end(member, m_slots[member].attempt, restarted, gone); }

void JobPods::end_all_logs() {
  for (MemberIndex i = 0; i < m_members.size(); ++i) {
    for (const auto& [uid, attempt] : m_slots[i].left) m_logs.end(i, attempt, false, false);
    end_log(i, false);
  }
}

std::string JobPods::describe_running_sidecar() const {
  for (MemberIndex i = 0; i < m_slots.size(); ++i) {
    if (!m_slots[i].ended || !m_slots[i].pod || m_slots[i].pod->over() || m_slots[i].pod->deleting) continue;
    const auto* program = program_container(*m_slots[i].pod, m_rules.members[i].container);
    if (program == nullptr || program->state != ContainerView::State::terminated) continue;
    for (const auto& container : m_slots[i].pod->containers)
      if (container.state == ContainerView::State::running)
        return fmt::format("the program of {} has ended, but its pod is waiting for the container {}", m_rules.members[i].name, container.name);
  }
  return {};
}

}  // namespace trainstep::follow
