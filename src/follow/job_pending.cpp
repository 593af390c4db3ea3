// SPDX-License-Identifier: Apache-2.0
#include "follow/job_pending.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <utility>

#include "follow/job_timers.h"
#include "follow/pending_status.h"
#include "follow/termination.h"

namespace trainstep::follow {
namespace {

constexpr std::string_view back_off = "Back-off pulling image";
constexpr Duration cause_unknown{900'000};  // the kubelet retries every five minutes

// As a whole word: "train-1-worker-1" does not match "train-1-worker-10".
bool names(std::string_view message, std::string_view name) {
  const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.'; };
  for (auto at = message.find(name); at != std::string_view::npos; at = message.find(name, at + 1)) {
    const auto end = at + name.size();
    if ((at == 0 || !part(message[at - 1])) && (end == message.size() || !part(message[end]))) return true;
  }
  return false;
}

bool is_of_a_pull(const Pending& pending) { return pending.kind == Pending::Kind::image || pending.kind == Pending::Kind::registry; }

// The kubelet only says that it waits for the next attempt to pull. Since 1.32 kubelets repeat the message of the last one after these words.
bool only_backs_off(const Pending& pending) {
  const auto waits = pending.kind == Pending::Kind::image ? pending.cause.find(back_off) : std::string::npos;
  return waits != std::string::npos && pending.cause.find(": ", waits) == std::string::npos;
}

}  // namespace

JobPending::JobPending(const Rules& rules, bool is_observer, Actions& actions)
    : m_rules(rules), m_is_observer(is_observer), m_actions(actions), m_slots(rules.members.size()) {}

bool JobPending::hear(const WarningSeen& seen) {
  constexpr std::size_t kept = 50;
  const auto same =
      std::ranges::find_if(m_warnings, [&](const Warning& old) { return old.seen.object == seen.object && old.seen.reason == seen.reason; });
  if (same != m_warnings.end()) {
    if (!seen.version.empty() && same->seen.version == seen.version) return false;
    *same = {seen, pending_by_warning(seen)};
  } else if (m_warnings.size() < kept) {
    m_warnings.push_back({seen, pending_by_warning(seen)});
  }
  return true;
}

bool JobPending::hear(const PodWarningSeen& seen, const JobPods& pods, Time at) {
  const auto* pod = pods.pod(seen.member);
  if (pod == nullptr || pod->uid != seen.uid) return false;
  m_slots[seen.member].events.hear(seen, std::min(seen.last.value_or(at), at));
  return true;
}

void JobPending::look_at(MemberIndex member, const job_types::PodView& pod, Time at) {
  auto& slot = m_slots[member];
  if (slot.uid != pod.uid) slot = Slot{};
  slot.uid = pod.uid;
  read(member, pod, at);
  await_explanation(slot, pod);
}

void JobPending::read(MemberIndex member, const job_types::PodView& pod, Time at) {
  auto& slot = m_slots[member];
  auto pending = pending_by_status(m_rules.members[member], pod);
  if (!pending) pending = slot.events.pending(m_rules.members[member], pod, at);
  if (pending && only_backs_off(*pending)) {
    // Between two attempts the kubelet only reports that it waits; its message about the attempt says more.
    if (slot.pending && is_of_a_pull(*slot.pending)) return;
    // The reason is not known yet and may be an overloaded registry: one of the next attempts will report it.
    pending->limit = cause_unknown;
  }
  slot.pending = std::move(pending);
}

PendingClock::Present JobPending::present() const {
  PendingClock::Present present{};
  const auto take = [&](const std::optional<Pending>& pending) {
    if (!pending) return;
    auto& place = present.at(static_cast<std::size_t>(pending->kind));
    if (place == nullptr) place = &*pending;
  };
  for (const auto& slot : m_slots) take(slot.pending);
  for (const auto& warning : m_warnings)
    if (!warning.stale) take(warning.pending);
  return present;
}

JobPending::Outcome JobPending::check(const JobPods& pods, const Now& now, Time at) {
  check_staleness(pods);
  for (MemberIndex i = 0; i < m_slots.size(); ++i)
    if (const auto* pod = pods.pod(i); pod != nullptr && m_slots[i].events.any()) read(i, *pod, at);  // the reported cause may be over by now
  const auto seen = now.suspended ? PendingClock::Present{} : present();
  m_clock.see(seen, at);
  const auto due = now.unreachable || m_is_observer ? PendingClock::Due{} : m_clock.next(seen, m_rules.limits, at);
  // Our clock may jump: the limit is also reached when its timer fires.
  const bool timed = m_check && due.pending != nullptr && *m_check == at + due.left;
  const bool over = due.pending != nullptr && due.left <= Duration{} && !timed;
  if (over && !now.fresh && due.lasted > Duration{}) return {.refresh = true, .verdict = {}};
  if (over) {
    const auto& what = m_told.emplace(*due.pending);
    const auto lasted = due.lasted.count() == 0 ? "" : fmt::format("; this has lasted {}", describe(due.lasted));
    const bool may_help = what.verdict_class == result::VerdictClass::system;
    return {.verdict = result::Verdict{what.verdict_class, what.what() + lasted, std::nullopt, may_help, 0}};
  }
  tell(seen);
  if (due.pending == nullptr || m_check == at + due.left) return {};
  m_check = at + due.left;
  m_actions.start_timer(JobTimer::pending_over, due.left);
  return {};
}

// Warnings explain missing pods; once all pods exist, they are outdated, even if a later list repeats them. So is a warning about a pod that exists,
// or one last reported before a pod was created: an obstacle that persists is reported again at the next attempt.
void JobPending::check_staleness(const JobPods& pods) {
  const bool all = pods.all();
  for (auto& warning : m_warnings)
    for (MemberIndex i = 0; i < m_slots.size(); ++i) {
      const auto* pod = pods.pod(i);
      if (warning.stale || pod == nullptr) continue;
      const auto& last = warning.seen.last;
      warning.stale = all || names(warning.seen.message, pod->name) || (last && pod->created && *pod->created > *last);
    }
}

void JobPending::tell(const PendingClock::Present& present) {
  const auto gravest = std::ranges::find_if(present, [](const Pending* pending) { return pending != nullptr; });
  if (gravest == present.end()) return m_told.reset();
  const auto& now = **gravest;
  // The message of a pull alternates between pulling and waiting; what the scheduler reports is news, but not again for the next pod.
  const bool news = !m_told || m_told->kind != now.kind || (!now.limit && m_told->cause != now.cause);
  m_told = now;
  if (!news) return;
  const auto limit = m_is_observer ? std::nullopt : pending_limit(now, m_rules.limits);
  m_actions.warn(limit ? fmt::format("{}; waiting up to {} for it to change", now.what(), describe(*limit)) : now.what());
}

void JobPending::restart(Time at) {
  m_clock.restart(at);
  m_check.reset();
}

// Most pods start in less time, and need no further request.
void JobPending::await_explanation(const Slot& slot, const job_types::PodView& pod) {
  constexpr Duration usual_start{20'000}, usual_scheduling{120'000}, usual_end{60'000};
  if (begins_unexplained(pod) && !std::exchange(m_events_awaited, true)) m_actions.start_timer(JobTimer::unexplained, usual_start);
  if (awaits_scheduler(pod) && !slot.events.any() && !std::exchange(m_schedulers_awaited, true))
    m_actions.start_timer(JobTimer::scheduler_silent, usual_scheduling);
  if (pod.deleting && !pod.over() && !slot.going_told && !std::exchange(m_going_awaited, true)) m_actions.start_timer(JobTimer::pods_go, usual_end);
}

void JobPending::ask_for_events(const JobPods& pods) {
  m_events_awaited = false;
  for (MemberIndex i = 0; i < pods.size(); ++i) m_events_awaited = m_events_awaited || (pods.pod(i) != nullptr && begins_unexplained(*pods.pod(i)));
  if (m_events_awaited) m_actions.add(WatchPodEvents{});
}

// For a lost node the end of its pods is never confirmed: they stay, and their operator creates no others, until the node is removed.
void JobPending::tell_of_pods_that_go(const JobPods& pods, bool expected) {
  m_going_awaited = false;
  if (expected) return;
  for (MemberIndex i = 0; i < m_slots.size(); ++i) {
    const auto* pod = pods.pod(i);
    if (pod == nullptr || !pod->deleting || pod->over() || std::exchange(m_slots[i].going_told, true)) continue;
    const auto why = pod->disrupted() ? fmt::format(" ({})", termination_of(*pod, nullptr).reason) : std::string();
    m_actions.warn(fmt::format("{} is being deleted{} but has not ended, and will not be replaced until it does; is its node {} up?",
                               m_rules.members[i].name, why, pod->node));
  }
}

void JobPending::tell_of_schedulers(const JobPods& pods) {
  m_schedulers_awaited = false;
  for (MemberIndex i = 0; i < m_slots.size(); ++i)
    if (const auto* pod = pods.pod(i); pod != nullptr && awaits_scheduler(*pod)) m_slots[i].events.ignored();
}

bool JobPending::by_quota() const {
  return std::ranges::any_of(
      m_warnings, [](const Warning& warning) { return !warning.stale && warning.pending && warning.pending->kind == Pending::Kind::quota; });
}

}  // namespace trainstep::follow
