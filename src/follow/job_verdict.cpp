// JobRunState: the end of the job, and its verdict.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "follow/job_run_state.h"
#include "follow/reasons.h"
#include "follow/runtime_words.h"
#include "follow/termination.h"
#include "follow/triage.h"
#include "job_types/conditions.h"

namespace trainstep::follow {

using Life = MemberState::Life;
using State = job_types::Judgement::State;
using result::VerdictClass;

namespace {

constexpr std::string_view taken_away = "a replica was removed from the job";

bool mentions(const job_types::Judgement& judgement, std::string_view words) {
  return judgement.reason.find(words) != std::string::npos || judgement.message.find(words) != std::string::npos;
}

// The message of the v1 operator when programs were restarted too often; that of a Job ("Job has reached …") also counts deleted pods.
bool by_restarts(const job_types::Judgement& judgement) { return mentions(judgement, "because it has reached the specified backoff limit"); }

// Within one second, the precision of the kubelet: out of memory, disruption and a program that could not start make others fail, not the other way
// round; a member ended by SIGTERM followed another one.
std::pair<std::chrono::time_point<std::chrono::system_clock, std::chrono::seconds>, int> rank(const MemberState& state) {
  const auto ending = state.end();
  const bool cause = ending.reason.starts_with("OOMKilled") || ending.disrupted || class_without_program(ending);
  const bool follows = !cause && (ending.signal == SIGTERM || ending.exit_code == 128 + SIGTERM);
  return {std::chrono::floor<std::chrono::seconds>(state.ended.value_or(Time{})), follows ? 2 : cause ? 0 : 1};
}

// We have to end ourselves, maybe within milliseconds.
bool hurried(const result::Verdict& verdict) { return verdict.verdict_class == VerdictClass::cancelled || verdict.signal != 0; }

}  // namespace

void JobRunState::job_ended(Time at) {
  m_over = true;
  enter_phase(result::Phase::finishing, at);
  m_looking = false;  // what was asked before the end does not count
  look_again();
}

// The job and the pods are watched separately: only pods that were listed after the job's final status show everything about its end.
void JobRunState::on(const PodsListed&, Time at) {
  if (m_verdict) return;
  if (!m_over) return looked(at);
  m_looking = false;
  m_listed = true;
  if (!m_listed_twice) {
    start_timer(settle_over, m_job_rules.settle);
    start_timer(logs_over, m_job_rules.log_end);
  }
  conclude_when_settled(at);
}

// There is no time for the rest of the logs.
void JobRunState::conclude_now(Time at) {
  if (m_listed) warn_of_logs_without_end();
  m_ends_awaited = m_logs_awaited = false;
  m_listed = true;
  conclude_when_settled(at);
}

void JobRunState::conclude_when_settled(Time at) {
  if (!m_over || m_verdict || !m_listed || ends_may_come()) return;
  if (const auto first = first_to_fail(); m_judgement.state == State::failed && first && m_slots[first->member].pod && m_slots[first->member].began &&
                                          first->state == &m_members[first->member]) {
    open_log(first->member);
  } else if (first && first->state != &m_members[first->member]) {
    open_previous_log(first->member);
  }
  end_all_logs();
  if (logs_may_come()) return;
  if (m_judgement.state == State::succeeded && !success_is_unproved()) warn_of_missing_log();
  auto verdict = end_verdict();
  if (verdict.verdict_class == VerdictClass::succeeded && primary_was_read()) warn_of_unmatched();
  decide(std::move(verdict), at, m_gave_up);
}

// The logs of all its attempts, from the first line to the last, for the metrics.
bool JobRunState::primary_was_read() const {
  for (MemberIndex i = 0; i < m_members.size(); ++i) {
    if (!m_rules.members[i].primary) continue;
    const auto was_read = [i](const auto& log) { return log.first.first == i && log.second.whole && log.second.metrics; };
    const auto attempts = m_members[i].attempts;
    if (attempts == 0 || std::ranges::count_if(m_logs, was_read) != attempts) return false;
  }
  return true;
}

// For example of a job that was found after its pods were removed: its metrics cannot be read.
void JobRunState::warn_of_missing_log() {
  if (!m_hidden.empty()) return;
  for (MemberIndex i = 0; i < m_members.size(); ++i)
    if (m_rules.members[i].primary && !m_slots[i].pod && !end_is_known(i))
      warn(fmt::format("{}: its pods are gone: cannot read its log and the metrics in it", m_rules.members[i].name));
}

// A status that says both is worth nothing: the exit codes of the awaited members are what is known.
result::Verdict JobRunState::end_verdict() {
  const result::Verdict success{VerdictClass::succeeded, "", std::nullopt, false, 0};
  if (m_judgement.state != State::succeeded) return failure_verdict();
  if (success_is_unproved())
    return {VerdictClass::system,
            fmt::format("{} is marked as succeeded, but its status counts no succeeded pod, and no pod of its primary replica was seen: apparently "
                        "nothing was trained",
                        m_job_rules.job),
            std::nullopt, false, 0};
  if (m_judgement.reason != job_types::contradicted || awaited_have_succeeded()) return success;
  bool failed = false;
  for (MemberIndex i = 0; i < m_members.size(); ++i) failed = failed || (m_rules.members[i].awaited && m_members[i].life == Life::failed);
  m_judgement = {State::failed, "", "its status says both that it has succeeded and that it has failed"};
  return failed ? failure_verdict() : unexplained_failure();
}

// For example of a job that creates no pod (completions: 0).
bool JobRunState::success_is_unproved() const {
  return m_judgement.state == State::succeeded && m_judgement.reason == job_types::uncounted && !m_primary_seen;
}

bool JobRunState::end_is_known(MemberIndex member) const {
  const auto life = m_members[member].life;
  return life == Life::succeeded || life == Life::failed || life == Life::stopped;
}

bool JobRunState::ends_may_come() const {
  if (!m_ends_awaited) return false;
  const bool failed = m_judgement.state == State::failed;
  if (failed && first_to_fail()) return false;
  if (success_is_unproved()) return true;  // the server that listed them may be behind
  // All existing pods have been listed: nothing more will be known of the missing ones.
  for (MemberIndex i = 0; i < m_members.size(); ++i)
    if (m_slots[i].pod && !end_is_known(i) && (failed || m_rules.members[i].awaited || m_rules.members[i].primary)) return true;
  return false;
}

bool JobRunState::logs_may_come() const { return m_logs_awaited && !logs_without_end().empty(); }

std::set<MemberIndex> JobRunState::logs_without_end() const {
  std::set<MemberIndex> members;
  for (const auto& [key, log] : m_logs)
    if (log.ending && !log.complete) members.insert(key.first);
  return members;
}

void JobRunState::warn_of_logs_without_end() {
  for (const auto member : logs_without_end()) warn(fmt::format("{}: the end of its log could not be read in time", m_rules.members[member].name));
}

// The job has ended: what members that still run (servers, workers after the master) have written by now is all.
void JobRunState::end_all_logs() {
  for (MemberIndex i = 0; i < m_members.size(); ++i) {
    for (const auto& [uid, attempt] : m_slots[i].left) end_log_of(i, attempt, false, false);
    end_log(i, false);
  }
}

std::optional<JobRunState::Culprit> JobRunState::first_to_fail() const {
  const auto find = [&](auto of_member, auto before) {
    std::optional<Culprit> found;
    for (MemberIndex i = 0; i < m_members.size(); ++i) {
      const MemberState* state = of_member(i);
      if (state == nullptr || !state->ending || !state->ended) continue;
      if (!found || before(*state, *found->state)) found = {i, state};
    }
    return found;
  };
  const auto earlier = [](const MemberState& a, const MemberState& b) { return rank(a) < rank(b); };
  const auto in_life = [&](Life life) { return [&, life](MemberIndex i) { return m_members[i].life == life ? &m_members[i] : nullptr; }; };
  if (auto failed = find(in_life(Life::failed), earlier)) return failed;
  // All that failed were restarted: the last failure is the one that exceeded the limit.
  const auto replaced = [&](MemberIndex i) { return m_slots[i].earlier ? &*m_slots[i].earlier : nullptr; };
  if (auto last = find(replaced, [](const MemberState& a, const MemberState& b) { return a.ended > b.ended; })) return last;
  // Pods that somebody deleted, if their end was seen and the operator does not report earlier failures.
  if (by_restarts(m_judgement)) return std::nullopt;
  return find([&](MemberIndex i) { return m_members[i].life == Life::stopped && !m_members[i].end().vanished ? &m_members[i] : nullptr; }, earlier);
}

// Operators mark a job as failed when its pod is drained, preempted or lost, while that pod is still in its grace period.
std::optional<MemberIndex> JobRunState::taken() const {
  for (MemberIndex i = 0; i < m_slots.size(); ++i)
    if (m_slots[i].pod && m_slots[i].pod->disrupted() && m_members[i].life != Life::succeeded) return i;
  return std::nullopt;
}

// It may save its work, and report that: Kubernetes gives it half a minute by default.
bool JobRunState::await_taken() {
  constexpr Duration usual_grace{45'000};
  const auto who = taken();
  if (!who || !m_slots[*who].pod->deleting || m_slots[*who].pod->over() || std::exchange(m_grace_awaited, true)) return false;
  say(fmt::format("{} is being removed from the job ({}); waiting up to {} for it to end", m_rules.members[*who].name,
                  termination_of(*m_slots[*who].pod, nullptr).reason, describe(usual_grace)));
  start_timer(settle_over, usual_grace);
  return true;
}

std::optional<result::Verdict> JobRunState::taken_verdict() const {
  const auto who = taken();
  if (!who) return std::nullopt;
  auto state = m_members[*who];
  state.ending = termination_of(*m_slots[*who].pod, nullptr);
  return result::Verdict{VerdictClass::capacity, std::string(taken_away), failure_of(m_rules, m_members, *who, state), true, 0};
}

// No pod shows a failure: failed pods are kept (unless somebody deletes them, or their node is lost), so it may have been anything, unless the job's
// status blames the program.
result::Verdict JobRunState::unexplained_failure() const {
  const auto& [state, reason, message] = m_judgement;
  const auto because = reason.empty() ? message : message.empty() ? reason : fmt::format("{}: {}", reason, message);
  auto text = fmt::format("{} failed{}{}", m_job_rules.job, because.empty() ? "" : ": ", because);
  if (mentions(m_judgement, "Evicted")) return {VerdictClass::capacity, std::move(text), std::nullopt, true, 0};
  if (m_gave_up && m_pending) text += "; " + m_pending->what();
  const bool of_a_pod_failure_policy = mentions(m_judgement, "failed with exit code");
  if (m_gave_up || by_restarts(m_judgement) || of_a_pod_failure_policy) return {VerdictClass::user, std::move(text), std::nullopt, false, 0};
  if (auto taken = taken_verdict()) return *std::move(taken);
  if (const auto beside = failed_beside(); !beside.empty()) return {VerdictClass::system, fmt::format("{}; {}", text, beside), std::nullopt, true, 0};
  const bool any = std::ranges::any_of(m_slots, [](const Slot& slot) { return slot.pod != nullptr; });
  text += fmt::format("; {}, so whether the training program failed is unknown", !m_hidden.empty() ? "no permission to list its pods"
                                                                                 : any             ? "none of its pods shows why"
                                                                                                   : "no pod is left that shows why");
  return {VerdictClass::system, std::move(text), std::nullopt, true, 0};
}

result::Verdict JobRunState::failure_verdict() const {
  if (m_judgement.reason == kept_in_vain)
    return {VerdictClass::capacity, "the job ended at the deadline set by an attempt of this step", std::nullopt, true, 0};
  if (mentions(m_judgement, "DeadlineExceeded") || mentions(m_judgement, "longer than specified deadline"))
    return {VerdictClass::timeout, "its deadline (job_options.run_policy.active_deadline) was exceeded", std::nullopt, false, 0};
  const auto first = first_to_fail();
  if (!first) return unexplained_failure();
  auto verdict = failed_verdict(failure_of(m_rules, m_members, first->member, *first->state), first->state->attempts - 1);
  if (const auto told = first->state->end().told; told && *told != VerdictClass::user) {
    verdict.verdict_class = *told;
    verdict.message = "the data of a replica could not be moved";
    verdict.retry_can_help = *told == VerdictClass::system;
  }
  if (const auto known = class_without_program(first->state->end())) {
    verdict.verdict_class = *known;
    verdict.message = first->state->end().vanished ? "whether the training program failed is unknown: its end was not seen"
                                                   : "the training program could not be started";
    verdict.retry_can_help = *known == VerdictClass::system;
  }
  const bool stopped = first->state->end().told == VerdictClass::cancelled;  // its agent failed, before there was a program
  const auto& reason = first->state->end().reason;
  if (reason.starts_with("DeadlineExceeded")) {
    verdict.verdict_class = VerdictClass::timeout;
    verdict.message = "the deadline of a pod (activeDeadlineSeconds) was exceeded";
  } else if (first->state->end().disrupted || first->state->life == Life::stopped || stopped ||
             (mentions(m_judgement, "Evicted") && !reason.starts_with("Evicted"))) {
    verdict.verdict_class = VerdictClass::capacity;
    verdict.message = first->state->started ? taken_away : "a replica was removed, or rejected by its node, before its program started";
    verdict.retry_can_help = true;
  }
  const auto others =
      std::ranges::count_if(m_members, [&](const MemberState& state) { return state.life == Life::failed && &state != first->state; });
  if (others > 0) verdict.message += fmt::format("; {} other replica{} failed after it", others, others == 1 ? "" : "s");
  if (m_gave_up) verdict.message += fmt::format("; {}", m_judgement.message);
  return verdict;
}

void JobRunState::decide(result::Verdict verdict, Time at, bool remove) {
  if (m_verdict) return;
  remove = remove && !m_job_rules.looks_on;
  const bool cancelled = verdict.verdict_class == VerdictClass::cancelled;
  const bool left = remove && m_job_rules.never_removed && !cancelled;
  if (remove && !left) {  // first: there may be only milliseconds
    m_removing = true;
    // A signal alone does not mean that the run is cancelled.
    m_actions.add(RemoveJob{cancelled && verdict.signal == 0, m_found && !hurried(verdict)});
  }
  m_verdict = std::move(verdict);
  m_timeline.enter(result::Phase::finishing, at);
  if (left && m_found) warn("the job is left unchanged (job_options.cleanup: never)");
  if (!m_removing) return finish();
  const auto* deed = m_found ? "deleting the job" : "looking for a job of this run";
  if (!cancelled) return say(deed);
  say(fmt::format("{}: {}", m_verdict->message.empty() ? result::signal_name(m_verdict->signal) + " received" : m_verdict->message, deed));
}

// A user who wants it kept in any case has said so; otherwise it is kept for a while.
void JobRunState::keep_for_next(result::Verdict verdict, Time at) {
  const bool for_a_while = m_job_rules.on_eviction != "keep" && !m_job_rules.looks_on;
  m_keeping = for_a_while;
  if (for_a_while) m_actions.add(KeepJob{});
  m_verdict = std::move(verdict);
  m_timeline.enter(result::Phase::finishing, at);
  if (!for_a_while) finish();
}

// A job that would have no end of its own is never left behind.
void JobRunState::remove_instead(const Error& why, Time at) {
  m_keeping = false;
  const auto signal = m_verdict->signal;
  m_verdict.reset();
  decide({result::VerdictClass::cancelled, fmt::format("{}; the job could not be left to the next attempt ({})", m_eviction->what, why.message),
          std::nullopt, false, signal},
         at, true);
}

// Somebody does not want to wait for what is still in progress.
void JobRunState::end_now() {
  if (m_removing && !m_finished) warn(fmt::format("the job may still exist: trainstep stop {}", m_job_rules.run));
  finish();
}

bool JobRunState::logs_go_on() const {
  return std::ranges::any_of(m_logs, [](const auto& log) { return !log.second.complete; });
}

// The output of a program that is being ended is shown, if there is time.
void JobRunState::finish_after_grace() {
  if (!m_removing || hurried(*m_verdict) || !logs_go_on()) return finish();
  if (std::exchange(m_last_lines, true)) return;
  start_timer(logs_over, m_rules.policy.stop_grace + m_job_rules.settle);
}

void JobRunState::finish() {
  if (m_finished || !m_verdict) return;
  m_finished = true;
  m_actions.add(Finish{*m_verdict});
}

}  // namespace trainstep::follow
