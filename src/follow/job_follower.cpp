// SPDX-License-Identifier: Apache-2.0
#include "follow/job_follower.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "follow/triage.h"

namespace trainstep::follow {
namespace {

using Life = MemberState::Life;
using kinds::ContainerView;
using State = kinds::Judgement::State;

// limit_phase + n belongs to phase n.
enum Timer : int { limit_total, operator_absent, pending_over, settle_over, logs_over, heartbeat, limit_phase };

std::string attempt_name(const kinds::PodView& pod, const ContainerView& container) { return fmt::format("{}/{}", pod.uid, container.restarts); }

// The container of the program; where a patch has renamed it, the first.
const ContainerView* program_container(const kinds::PodView& pod, const std::string& name) {
  if (const auto* container = pod.container(name)) return container;
  return pod.containers.empty() ? nullptr : &pod.containers.front();
}

Ending ending_of(const kinds::PodView& pod, const kinds::Termination* termination) {
  Ending ending;
  ending.disrupted = pod.disrupted();
  if (termination != nullptr) {
    ending.exit_code = termination->exit_code;
    ending.signal = termination->signal;
    if (termination->reason != "Error" && termination->reason != "Completed") ending.reason = termination->reason;
  } else {
    ending.vanished = pod.phase != "Succeeded";
  }
  if (ending.succeeded() && termination != nullptr) ending.disrupted = false;
  if (!ending.succeeded() && (ending.reason.empty() || ending.disrupted)) {
    if (!pod.reason.empty())
      ending.reason = pod.message.empty() ? pod.reason : pod.reason + ": " + pod.message;
    else if (!pod.disruption.empty())
      ending.reason = pod.disruption;
  }
  return ending;
}

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

// A limit that the user has set for the phase in which it shows counts instead of the table's.
std::optional<Duration> patience_for(Pending::Kind kind, const plan::Limits& limits) {
  using enum Pending::Kind;
  if (kind == image || kind == configuration) return limits.starting;
  if (kind == claim) return limits.scheduling;
  return kind == pods_refused ? limits.queued : std::nullopt;
}

}  // namespace

JobFollower::JobFollower(Rules rules, JobRules job_rules)
    : Machine(std::move(rules)), m_job_rules(std::move(job_rules)), m_slots(m_rules.members.size()) {}

std::vector<Action> JobFollower::begin(Time at) {
  m_began = m_last_sign_of_life = at;
  m_timeline.enter(result::Phase::queued, at);
  start_timer(limit_total, m_rules.limits.total);
  start_timer(heartbeat, m_rules.heartbeat);
  return take_actions();
}

std::vector<Action> JobFollower::handle(const Event& event) {
  if (!m_finished) std::visit([&](const auto& what) { on(what, event.at); }, event.what);
  return take_actions();
}

void JobFollower::on(const Told& told, Time) { say(told.text); }

void JobFollower::on(const JobFound& /*found*/, Time at) {
  m_found = at;
  start_timer(operator_absent, m_job_rules.operator_absent);
  start_timer(limit_phase + static_cast<int>(result::Phase::queued), m_rules.limits.queued);
}

void JobFollower::on(const JobSeen& seen, Time at) {
  const bool was_suspended = m_judgement.state == State::suspended;
  if (m_over) return;  // the first final word counts
  m_judgement = seen.judgement;
  if (m_judgement.state == State::suspended && !was_suspended) say("suspended: it waits in its queue, or until somebody resumes it");
  if (was_suspended && m_judgement.state != State::suspended) say("resumed");
  evaluate(at);
}

void JobFollower::on(const JobGone&, Time at) {
  if (m_over || !m_found) return;
  if (m_verdict) return finish();
  decide({result::VerdictClass::system,
          fmt::format("{} was deleted by somebody else before its end was seen; whether the training succeeded cannot be known", m_job_rules.job),
          std::nullopt, true, 0},
         at, false);
}

void JobFollower::on(const PodSeen& seen, Time at) {
  auto& slot = m_slots.at(seen.member);
  if (slot.pod && slot.pod->uid != seen.pod.uid) {
    if (seen.pod.created < slot.pod->created) return;  // of an earlier attempt
    end_log(seen.member, false);
    slot.attempt.clear();
  }
  slot.pod = seen.pod;
  look_at_pod(seen.member, at);
  evaluate(at);
}

void JobFollower::on(const PodGone& gone, Time at) {
  auto& slot = m_slots.at(gone.member);
  if (!slot.pod || slot.pod->uid != gone.uid) return;
  auto& state = m_members[gone.member];
  if (state.life == Life::running) {
    auto ending = ending_of(*slot.pod, nullptr);
    if (ending.reason.empty()) ending.reason = "its pod was deleted";
    attempt_ends(gone.member, std::move(ending), at);
  }
  slot.pod.reset();
  slot.attempt.clear();
  evaluate(at);
}

void JobFollower::on(const WarningSeen& seen, Time at) {
  const auto same = std::ranges::find_if(m_warnings, [&](const Warning& old) { return old.object == seen.object && old.reason == seen.reason; });
  if (same != m_warnings.end())
    same->message = seen.message;
  else if (m_warnings.size() < 50)
    m_warnings.push_back({seen.object, seen.reason, seen.message});
  evaluate(at);
}

void JobFollower::on(const LogComplete& complete, Time at) {
  if (const auto log = m_logs.find({complete.member, complete.attempt}); log != m_logs.end()) log->second = true;
  conclude_when_settled(at);
}

void JobFollower::on(const CancelSeen& seen, Time at) {
  if (m_verdict) return;
  decide({result::VerdictClass::cancelled, seen.what, std::nullopt, false, SIGTERM}, at, true);
}

void JobFollower::on(const EvictionSeen& seen, Time) { m_eviction = seen; }

void JobFollower::on(const StopRequested& request, Time at) {
  if (m_verdict) return;
  const bool keep = m_eviction && request.signal == SIGTERM && m_job_rules.on_eviction != "delete" &&
                    (m_eviction->retry_follows || m_job_rules.on_eviction == "keep");
  if (keep)
    return decide(
        {result::VerdictClass::interrupted, m_eviction->what + "; the job runs on for the next attempt", std::nullopt, true, request.signal}, at,
        false);
  decide({result::VerdictClass::cancelled, m_eviction ? m_eviction->what : "", std::nullopt, false, request.signal}, at, true);
}

void JobFollower::on(const BackendFailed& failed, Time at) {
  if (m_verdict) {
    if (m_removing) say("the job may still be there: " + failed.error.message);
    return finish();
  }
  if (m_over) {  // nothing more can be seen of it, but its end is known
    m_settled = true;
    return conclude_when_settled(at);
  }
  decide(result::from_error(failed.error), at, m_found.has_value());
}

void JobFollower::on(const ServerTrouble& trouble, Time) {
  if (trouble.reason.empty())
    say("the API server answers again");
  else
    say(fmt::format("the API server cannot be reached ({}); the job runs on, trying again", trouble.reason));
}

// --- pods ---

void JobFollower::look_at_pod(MemberIndex member, Time at) {
  const auto& pod = *m_slots[member].pod;
  auto& state = m_members[member];
  state.place = pod.node;
  const auto* container = program_container(pod, m_rules.members[member].container);
  const kinds::Termination* termination = nullptr;
  if (container != nullptr) {
    const bool waits_to_restart = container->state == ContainerView::State::waiting && container->last;
    if (container->state == ContainerView::State::terminated && container->termination) termination = &*container->termination;
    if (waits_to_restart) termination = &*container->last;
    if (container->state == ContainerView::State::running || termination != nullptr) attempt_begins(member, *container, at);
  }
  const bool ended = termination != nullptr || pod.over();
  if (ended && !(state.ending && state.ended))
    attempt_ends(member, ending_of(pod, termination), termination != nullptr && termination->finished ? *termination->finished : at);
}

void JobFollower::attempt_begins(MemberIndex member, const ContainerView& container, Time at) {
  auto& slot = m_slots[member];
  auto& state = m_members[member];
  auto attempt = attempt_name(*slot.pod, container);
  if (slot.attempt == attempt) return;
  const bool in_place = !slot.attempt.empty();
  if (in_place) end_log(member, true);
  if (state.attempts > 0) {
    // An attempt that was replaced before its end was seen has ended all the same.
    const bool failed = !state.ending || !state.ending->succeeded();
    if (failed) ++m_restarts;
    say(fmt::format("{} starts again (attempt {})", m_rules.members[member].name, state.attempts + 1));
  }
  slot.attempt = std::move(attempt);
  ++state.attempts;
  state.life = Life::running;
  state.ending.reset();
  state.ended.reset();
  state.tail.clear();
  const auto began = container.termination ? container.termination->started : container.started;
  state.started = began ? *began : at;
  m_last_sign_of_life = at;
  if (shown(member) || m_rules.members[member].primary) open_log(member);
}

void JobFollower::attempt_ends(MemberIndex member, Ending ending, Time at) {
  auto& state = m_members[member];
  state.life = ending.succeeded() ? Life::succeeded : Life::failed;
  if (state.attempts == 0) state.attempts = 1;
  state.ending = std::move(ending);
  state.ended = at;
  m_last_sign_of_life = at;
  if (state.life == Life::failed && !m_over) say(describe(first_failure(m_rules, m_members, member)));
  if (state.life == Life::failed && !m_slots[member].attempt.empty()) open_log(member);  // for the triage; shown only where wanted
  end_log(member, false);
}

void JobFollower::open_log(MemberIndex member) {
  const auto& slot = m_slots[member];
  if (m_logs.contains({member, slot.attempt})) return;
  m_logs[{member, slot.attempt}] = false;
  const auto* container = program_container(*slot.pod, m_rules.members[member].container);
  m_actions.emplace_back(
      FollowLog{member, slot.attempt, slot.pod->name, container == nullptr ? m_rules.members[member].container : container->name, false});
}

void JobFollower::end_log(MemberIndex member, bool restarted) {
  const auto& attempt = m_slots[member].attempt;
  if (const auto log = m_logs.find({member, attempt}); log != m_logs.end() && !log->second)
    m_actions.emplace_back(EndLog{member, attempt, restarted});
}

// --- what it all means ---

void JobFollower::evaluate(Time at) {
  if (m_verdict || !m_found) return;
  if (m_over) return conclude_when_settled(at);
  if (m_judgement.state == State::succeeded || m_judgement.state == State::failed) return job_ended(at);
  enter_phase(phase_now(), at);
  look_at_pending(at);
  if (!m_verdict) check_restarts(at);
}

result::Phase JobFollower::phase_now() const {
  using enum result::Phase;
  if (m_judgement.state == State::suspended) return queued;
  std::size_t there = 0, placed = 0;
  bool runs = false;
  for (MemberIndex i = 0; i < m_slots.size(); ++i) {
    if (!m_slots[i].pod) continue;
    ++there;
    if (!m_slots[i].pod->node.empty()) ++placed;
    runs = runs || (m_rules.members[i].primary && !m_slots[i].attempt.empty());
  }
  if (runs) return running;
  if (there == 0) return queued;
  return placed < m_slots.size() ? scheduling : starting;
}

void JobFollower::enter_phase(result::Phase phase, Time at) {
  if (m_timeline.current() == phase) return;
  const auto before = m_timeline.current();
  const auto took = m_timeline.in_current(at);
  m_timeline.enter(phase, at);
  start_timer(limit_phase + static_cast<int>(phase), limit_of(m_rules.limits, phase));
  if (phase == result::Phase::finishing) return;
  say(before ? fmt::format("{} (after {} {})", name(phase), describe(took), name(*before)) : std::string(name(phase)));
}

void JobFollower::look_at_pending(Time at) {
  std::optional<Pending> found;
  if (m_judgement.state != State::suspended) {
    std::vector<const kinds::PodView*> pods;
    pods.reserve(m_slots.size());
    for (const auto& slot : m_slots) pods.push_back(slot.pod ? &*slot.pod : nullptr);
    found = pending_of(m_rules.members, pods, m_warnings);
  }
  if (!found) {
    m_pending.reset();
    return;
  }
  if (const auto wanted = patience_for(found->kind, m_rules.limits); wanted && found->limit > Duration{}) found->limit = wanted;
  const bool same_kind = m_pending && m_pending->kind == found->kind;
  // A pull's message goes to and fro between trying and waiting; what the scheduler misses is news.
  const bool news = !same_kind || (!found->limit && m_pending->what != found->what);
  if (!same_kind) m_pending_since = at;
  m_pending = std::move(found);
  if (m_pending->limit && *m_pending->limit <= at - m_pending_since)
    return decide({result::VerdictClass::input,
                   m_pending->limit->count() == 0 ? m_pending->what : fmt::format("{} (for {})", m_pending->what, describe(at - m_pending_since)),
                   std::nullopt, false, 0},
                  at, true);
  if (news)
    say(m_pending->limit ? fmt::format("{}; waiting up to {} for it to change", m_pending->what, describe(*m_pending->limit)) : m_pending->what);
  if (!same_kind && m_pending->limit) start_timer(pending_over, m_pending->limit);
}

void JobFollower::check_restarts(Time at) {
  if (!m_job_rules.restarts_are_ours || m_restarts <= m_rules.policy.backoff_limit) return;
  auto verdict = failure_verdict();
  decide(std::move(verdict), at, true);
}

// --- the end ---

void JobFollower::job_ended(Time at) {
  m_over = true;
  enter_phase(result::Phase::finishing, at);
  start_timer(settle_over, m_job_rules.settle);
  start_timer(logs_over, m_job_rules.log_end);
  if (m_judgement.state == State::failed)
    if (const auto first = first_to_fail(); first && !m_slots[*first].attempt.empty() && m_slots[*first].pod) {
      open_log(*first);
      end_log(*first, false);
    }
  conclude_when_settled(at);
}

// The watches of job and pods are two: what the pods say may come a moment after the job's own word.
void JobFollower::conclude_when_settled(Time at) {
  if (!m_over || m_verdict) return;
  if (!m_settled) {
    if (m_judgement.state == State::failed && !first_to_fail()) return;
    for (MemberIndex i = 0; i < m_members.size(); ++i)
      if (m_rules.members[i].primary && m_members[i].life == Life::running) return;
  }
  // Logs of replicas that still run (servers, workers after the master) end with their pods, not before.
  for (const auto& [key, complete] : m_logs)
    if (!m_settled && !complete && m_members[key.first].life != Life::running) return;
  decide(m_judgement.state == State::succeeded ? result::Verdict{result::VerdictClass::succeeded, "", std::nullopt, false, 0} : failure_verdict(), at,
         false);
}

std::optional<MemberIndex> JobFollower::first_to_fail() const {
  std::optional<MemberIndex> first;
  const auto rank = [&](MemberIndex i) {
    const auto& ending = *m_members[i].ending;
    // Within one second, which is as exact as the kubelet tells: out of memory and disruption make others fail, not the other way round.
    const bool cause = ending.reason.starts_with("OOMKilled") || ending.disrupted;
    const bool follower = ending.signal == SIGTERM || ending.exit_code == 128 + SIGTERM;
    return std::pair(std::chrono::floor<std::chrono::seconds>(*m_members[i].ended), follower ? 2 : cause ? 0 : 1);
  };
  for (MemberIndex i = 0; i < m_members.size(); ++i) {
    if (m_members[i].life != Life::failed || !m_members[i].ending || !m_members[i].ended) continue;
    if (!first || rank(i) < rank(*first)) first = i;
  }
  return first;
}

result::Verdict JobFollower::failure_verdict() const {
  const auto said = m_judgement.reason + " " + m_judgement.message;
  const auto first = first_to_fail();
  const auto because = join({m_judgement.reason, m_judgement.message}, m_judgement.reason.empty() || m_judgement.message.empty() ? "" : ": ");
  if (said.find("DeadlineExceeded") != std::string::npos || said.find("longer than specified deadline") != std::string::npos)
    return {result::VerdictClass::timeout, "its deadline (job_options.run_policy.active_deadline) has passed", std::nullopt, false, 0};
  if (!first) {
    const bool evicted = said.find("Evicted") != std::string::npos;
    return {evicted ? result::VerdictClass::capacity : result::VerdictClass::user, fmt::format("{} failed: {}", m_job_rules.job, because),
            std::nullopt, evicted, 0};
  }
  auto verdict = failed_verdict(first_failure(m_rules, m_members, *first), m_restarts);
  if (m_members[*first].ending->disrupted) {
    verdict.verdict_class = result::VerdictClass::capacity;
    verdict.message = "a replica was taken away from the job";
    verdict.retry_can_help = true;
  }
  const auto others = std::ranges::count_if(m_members, [](const MemberState& state) { return state.life == Life::failed; }) - 1;
  if (others > 0) verdict.message += fmt::format("; {} other replica{} failed after it", others, others == 1 ? "" : "s");
  return verdict;
}

void JobFollower::decide(result::Verdict verdict, Time at, bool remove) {
  if (m_verdict) return;
  if (remove) {  // first of all: there may be only milliseconds
    m_removing = true;
    m_actions.emplace_back(RemoveJob{});
  }
  m_verdict = std::move(verdict);
  m_timeline.enter(result::Phase::finishing, at);
  if (!remove) return finish();
  say(m_verdict->verdict_class == result::VerdictClass::cancelled
          ? fmt::format("{}: the job is deleted",
                        m_verdict->message.empty() ? result::signal_name(m_verdict->signal) + " received" : m_verdict->message)
          : std::string("the job is deleted"));
}

void JobFollower::finish() {
  if (m_finished) return;
  m_finished = true;
  m_actions.emplace_back(Finish{*m_verdict});
}

void JobFollower::on(const TimerFired& fired, Time at) {
  if (m_verdict) return;
  switch (fired.timer) {
    case heartbeat:
      if (at - m_last_sign_of_life >= m_rules.heartbeat)
        say(fmt::format("still {} after {}; no output for {}", name(*m_timeline.current()), describe(at - m_began),
                        describe(at - m_last_sign_of_life)));
      return start_timer(heartbeat, m_rules.heartbeat);
    case operator_absent: {
      const bool pods = std::ranges::any_of(m_slots, [](const Slot& slot) { return slot.pod.has_value(); });
      if (m_judgement.state != State::unknown || pods || !m_warnings.empty()) return;
      return decide({result::VerdictClass::system,
                     fmt::format("nobody cares for {}: no status, no pods, no event for {}; is the operator of this kind running?", m_job_rules.job,
                                 describe(m_job_rules.operator_absent)),
                     std::nullopt, true, 0},
                    at, true);
    }
    case pending_over:
      return evaluate(at);
    case settle_over:
      if (m_judgement.state == State::failed && !first_to_fail()) m_settled = true;
      for (auto& state : m_members)  // what has not been heard of an end by now is not waited for
        if (state.life == Life::running && m_over) state.life = Life::stopped;
      return conclude_when_settled(at);
    case logs_over:
      for (auto& [key, complete] : m_logs)
        if (!complete) say(fmt::format("{}: the end of its log could not be read in time", m_rules.members[key.first].name));
      m_settled = true;
      return conclude_when_settled(at);
    default:
      return check_limits(at);
  }
}

void JobFollower::check_limits(Time at) {
  const auto passed = [&](std::string_view phase, Duration limit, bool capacity) {
    decide({capacity ? result::VerdictClass::capacity : result::VerdictClass::timeout,
            fmt::format("the limit of {} for {} (job_options.limits.{}) has passed{}", describe(limit), phase, phase,
                        m_pending ? "; " + m_pending->what : ""),
            std::nullopt, capacity, 0},
           at, true);
  };
  if (m_rules.limits.total && at - m_began >= *m_rules.limits.total) return passed("total", *m_rules.limits.total, false);
  const auto phase = m_timeline.current();
  if (!phase || m_over) return;
  if (m_pending && m_pending->limit) return look_at_pending(at);  // it has a cause, which is told instead of the limit
  const auto limit = limit_of(m_rules.limits, *phase);
  if (!limit) return;
  const auto spent = m_timeline.in_current(at);
  if (spent < *limit) return start_timer(limit_phase + static_cast<int>(*phase), *limit - spent);
  passed(name(*phase), *limit, *phase == result::Phase::queued || *phase == result::Phase::scheduling);
}

}  // namespace trainstep::follow
