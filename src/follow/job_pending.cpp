// JobRunState: what keeps the job from running, and how long that may last.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "follow/job_run_state.h"
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

}  // namespace

void JobRunState::on(const PodWarningSeen& seen, Time at) {
  auto& slot = m_slots.at(seen.member);
  if (!slot.pod || slot.pod->uid != seen.uid) return;
  slot.trouble.hear(seen, std::min(seen.last.value_or(at), at));
  evaluate(at);
}

void JobRunState::look_at_pending(MemberIndex member, Time at) {
  auto& slot = m_slots[member];
  auto pending = pending_by_status(m_rules.members[member], *slot.pod);
  if (!pending) pending = slot.trouble.pending(m_rules.members[member], *slot.pod, at);
  // Between two attempts the kubelet only reports that it waits; its message about the attempt says more.
  const bool of_a_pull = slot.pending && (slot.pending->kind == Pending::Kind::image || slot.pending->kind == Pending::Kind::registry);
  const auto waits = pending && pending->kind == Pending::Kind::image ? pending->cause.find(back_off) : std::string::npos;
  // Since 1.32 kubelets repeat the message after these words.
  const bool says_why = waits != std::string::npos && pending->cause.find(": ", waits) != std::string::npos;
  if (waits != std::string::npos && !says_why && of_a_pull) return;
  // The reason has not been seen, it may be an overloaded registry: one of the next attempts will tell.
  if (waits != std::string::npos && !says_why) pending->limit = cause_unknown;
  slot.pending = std::move(pending);
}

PendingClock::Present JobRunState::present() const {
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

void JobRunState::check_pending(Time at) {
  check_staleness();
  for (MemberIndex i = 0; i < m_slots.size(); ++i)
    if (m_slots[i].pod && m_slots[i].trouble.any()) look_at_pending(i, at);  // the reported cause may be over by now
  const auto seen = m_judgement.state == job_types::Judgement::State::suspended ? PendingClock::Present{} : present();
  m_pending_clock.see(seen, at);
  const auto due = m_unreachable || m_job_rules.looks_on ? PendingClock::Due{} : m_pending_clock.next(seen, m_rules.limits, at);
  // Our clock may jump: the limit is also reached when its timer fires.
  const bool timed = m_pending_check && due.pending != nullptr && *m_pending_check == at + due.left;
  const bool over = due.pending != nullptr && due.left <= Duration{} && !timed;
  if (over && !m_fresh && due.lasted > Duration{}) return look_again();
  if (over) {
    m_pending = *due.pending;
    const auto lasted = due.lasted.count() == 0 ? "" : fmt::format("; this has lasted {}", describe(due.lasted));
    return decide(
        {due.pending->verdict_class, due.pending->what() + lasted, std::nullopt, due.pending->verdict_class == result::VerdictClass::system, 0}, at,
        true);
  }
  tell_pending(seen);
  if (due.pending == nullptr || m_pending_check == at + due.left) return;
  m_pending_check = at + due.left;
  start_timer(pending_over, due.left);
}

// Warnings explain missing pods; once all pods exist, they are outdated, even if a later list repeats them. So is a warning about a pod that exists,
// or one last reported before a pod was created: an obstacle that persists is reported again at the next attempt.
void JobRunState::check_staleness() {
  const bool all = std::ranges::all_of(m_slots, [](const Slot& slot) { return slot.pod != nullptr; });
  for (auto& warning : m_warnings)
    for (const auto& slot : m_slots) {
      if (warning.stale || !(all || slot.pod)) continue;
      warning.stale =
          all || names(warning.seen.message, slot.pod->name) || (warning.seen.last && slot.pod->created && *slot.pod->created > *warning.seen.last);
    }
}

void JobRunState::tell_pending(const PendingClock::Present& present) {
  const auto gravest = std::ranges::find_if(present, [](const Pending* pending) { return pending != nullptr; });
  if (gravest == present.end()) return m_pending.reset();
  const auto& now = **gravest;
  // The message of a pull alternates between pulling and waiting; what the scheduler reports is news, but not again for the next pod.
  const bool news = !m_pending || m_pending->kind != now.kind || (!now.limit && m_pending->cause != now.cause);
  m_pending = now;
  if (!news) return;
  const auto limit = m_job_rules.looks_on ? std::nullopt : pending_limit(now, m_rules.limits);
  warn(limit ? fmt::format("{}; waiting up to {} for it to change", now.what(), describe(*limit)) : now.what());
}

// Most pods start in less time, and need no further request.
void JobRunState::await_explanation(const Slot& slot) {
  constexpr Duration usual_start{20'000}, usual_scheduling{120'000}, usual_end{60'000};
  if (begins_unexplained(*slot.pod) && !std::exchange(m_events_awaited, true)) start_timer(unexplained, usual_start);
  if (awaits_scheduler(*slot.pod) && !slot.trouble.any() && !std::exchange(m_schedulers_awaited, true))
    start_timer(scheduler_silent, usual_scheduling);
  if (slot.pod->deleting && !slot.pod->over() && !slot.going_told && !std::exchange(m_going_awaited, true)) start_timer(pods_go, usual_end);
}

void JobRunState::ask_for_events() {
  m_events_awaited = std::ranges::any_of(m_slots, [](const Slot& slot) { return slot.pod && begins_unexplained(*slot.pod); });
  if (m_events_awaited) m_actions.add(WatchPodEvents{});
}

// For a lost node nobody confirms that its pods have ended: they stay, and their operator creates no others, until the node is removed.
void JobRunState::tell_of_pods_that_go() {
  m_going_awaited = false;
  if (m_over || m_deleting || m_judgement.state == job_types::Judgement::State::suspended) return;
  for (MemberIndex i = 0; i < m_slots.size(); ++i) {
    auto& slot = m_slots[i];
    if (!slot.pod || !slot.pod->deleting || slot.pod->over() || std::exchange(slot.going_told, true)) continue;
    const auto why = slot.pod->disrupted() ? fmt::format(" ({})", termination_of(*slot.pod, nullptr).reason) : std::string();
    warn(fmt::format("{} is being deleted{} but has not ended, and is not replaced before it does; is its node {} up?", m_rules.members[i].name, why,
                     slot.pod->node));
  }
}

void JobRunState::tell_of_schedulers(Time at) {
  m_schedulers_awaited = false;
  for (auto& slot : m_slots)
    if (slot.pod && awaits_scheduler(*slot.pod)) slot.trouble.ignored();
  evaluate(at);
}

}  // namespace trainstep::follow
