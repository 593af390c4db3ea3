// SPDX-License-Identifier: Apache-2.0
#include "follow/job_run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "follow/pending_status.h"
#include "follow/reasons.h"
#include "job_types/conditions.h"

namespace trainstep::follow {

using Life = MemberState::Life;
using State = job_types::Judgement::State;

JobRunState::JobRunState(Rules rules, JobRules job_rules)
    : RunState(std::move(rules)), m_job_rules(std::move(job_rules)), m_slots(m_rules.members.size()) {
  if (m_job_rules.looks_on) m_rules.limits = {};
}

std::vector<Action> JobRunState::begin(Time at) {
  m_began = m_last_sign_of_life = at;
  m_timeline.enter(result::Phase::queued, at);
  start_timer(limit_total, m_rules.limits.total);
  start_timer(heartbeat, m_rules.heartbeat);
  return m_actions.take();
}

std::vector<Action> JobRunState::handle(const Event& event) {
  if (!m_finished) std::visit([&](const auto& what) { on(what, event.at); }, event.what);
  return m_actions.take();
}

void JobRunState::on(const Told& told, Time) { told.warning ? warn(told.text) : say(told.text); }

void JobRunState::on(const JobFound& found, Time at) {
  m_found = at;
  m_restarts_are_ours = m_job_rules.restarts_are_ours && !m_job_rules.looks_on && !found.backoff_is_kept;
  if (found.adopted && found.created) {
    m_created = found.created;
    m_adopted = std::max(at + found.clock.value_or(Duration{}), *found.created);
    if (const auto& total = m_rules.limits.total) start_timer(limit_total, std::max(*total - whole(at), Duration{}));
  }
  start_operator_timer();
  start_phase_timer(result::Phase::queued, at);
}

// Only the status of the job itself can be seen.
void JobRunState::on(const PodsHidden& hidden, Time at) {
  if (std::exchange(m_hidden, hidden.reason).empty())
    warn(fmt::format("no permission to list its pods ({}): their status and logs may be missing here", hidden.reason));
  evaluate(at);
}

void JobRunState::on(const JobSeen& seen, Time at) {
  const bool final = seen.judgement.state == State::succeeded || seen.judgement.state == State::failed;
  if (m_over && m_gave_up && final && !m_verdict) {  // its operator gives it up as well: nothing has to be stopped
    m_gave_up = false;
    m_judgement = seen.judgement;
    return conclude_when_settled(at);
  }
  if (m_over && seen.judgement.state == State::succeeded && m_judgement.reason == job_types::uncounted) m_judgement = seen.judgement;
  if (m_over) return;  // the first final status counts
  if (seen.judgement.reason == being_deleted && !m_verdict) going(seen.judgement.message);
  const bool was_suspended = m_judgement.state == State::suspended;
  m_judgement = seen.judgement;
  if (m_judgement.state == State::suspended && !was_suspended) suspended();
  if (was_suspended && m_judgement.state != State::suspended) say("resumed");
  evaluate(at);
}

// Its pods may succeed while it is being deleted, and its status may say so.
void JobRunState::going(const std::string& finalizers) {
  const auto before = std::exchange(m_finalizers, finalizers);
  const bool first = !std::exchange(m_deleting, true);
  if (!first && before == finalizers) return;
  warn(fmt::format("{} is being deleted by another client; waiting for {}", m_job_rules.job,
                   finalizers.empty() ? "its end" : fmt::format("its finalizers ({})", finalizers)));
  if (first) start_timer(deletion_over, m_job_rules.deletion);
}

void JobRunState::deleted(Time at, const std::string& more, bool remove) {
  decide({result::VerdictClass::system,
          fmt::format("{} was deleted by another client before its outcome was seen; whether the training succeeded is unknown{}", m_job_rules.job,
                      more),
          std::nullopt, true, 0},
         at, remove);
}

// After a background deletion by somebody else its pods run until its finalizers are gone; our own DELETE removes them first.
void JobRunState::check_deletion(Time at) {
  if (m_verdict || m_over) return;
  m_deletion_is_due = !m_fresh;
  if (!m_fresh) return look_again();
  const bool runs_on = std::ranges::any_of(m_slots, [](const Slot& slot) { return slot.pod && !slot.pod->over(); });
  deleted(at,
          fmt::format("; after {} it still exists{}", describe(m_job_rules.deletion),
                      m_finalizers.empty() ? "" : fmt::format(", held by its finalizers ({})", m_finalizers)),
          runs_on);
}

// All pods are deleted and will be recreated: neither their ends nor what happened to them before count.
void JobRunState::suspended() {
  say("suspended: waiting in its queue, or to be resumed");
  for (MemberIndex i = 0; i < m_slots.size(); ++i) {
    auto& state = m_members[i];
    if (state.life != Life::succeeded) state.life = m_slots[i].began && !m_slots[i].ended ? Life::running : Life::waiting;
    if (state.life != Life::succeeded) state.ending.reset();
    m_slots[i].earlier.reset();
  }
}

void JobRunState::on(const JobGone&, Time at) {
  if (m_verdict) return finish_after_grace();
  if (m_over || !m_found) return;
  deleted(at, "");
}

void JobRunState::on(const WarningSeen& seen, Time at) {
  constexpr std::size_t kept = 50;
  const auto same =
      std::ranges::find_if(m_warnings, [&](const Warning& old) { return old.seen.object == seen.object && old.seen.reason == seen.reason; });
  if (same != m_warnings.end()) {
    if (!seen.version.empty() && same->seen.version == seen.version) return;
    *same = {seen, pending_by_warning(seen)};
  } else if (m_warnings.size() < kept) {
    m_warnings.push_back({seen, pending_by_warning(seen)});
  }
  evaluate(at);
}

void JobRunState::on(const MemberOutput& output, Time at) {
  auto& slot = m_slots.at(output.member);
  const bool of_earlier = slot.earlier && !output.attempt.empty() && output.attempt == slot.earlier_attempt && output.attempt != slot.attempt;
  result::Tail nobodys;
  const bool of_left = std::ranges::any_of(slot.left, [&](const auto& left) { return left.second == output.attempt; });
  take_output(output, at, of_earlier ? slot.earlier->tail : of_left ? nobodys : m_members[output.member].tail);
}

void JobRunState::on(const LogComplete& complete, Time at) {
  if (const auto log = m_logs.find({complete.member, complete.attempt}); log != m_logs.end()) {
    log->second.complete = true;
    log->second.whole = complete.whole;
  }
  if (m_last_lines && !logs_go_on()) return finish();
  conclude_when_settled(at);
}

void JobRunState::on(const CancelSeen& seen, Time at) {
  m_hurried = true;
  if (m_verdict) return;
  if (m_over) return conclude_now(at);
  decide({result::VerdictClass::cancelled, seen.what, std::nullopt, false, 0}, at, true);
}

void JobRunState::on(const EvictionSeen& seen, Time) { m_eviction = seen; }

void JobRunState::on(const StopRequested& request, Time at) {
  m_hurried = true;
  if (m_last_lines) return finish();
  if (m_verdict) {
    if (m_keeping) return;  // its deadline is being written, which takes some seconds of the grace; without it the job would have no end
    // Argo sends SIGTERM repeatedly, which is not a sign of impatience.
    if (request.signal == SIGINT || m_job_rules.at_shell) end_now();
    return;
  }
  if (m_over) return conclude_now(at);
  // An eviction was read from the API server after the signal, whatever happened to other requests; in doubt it is a cancel.
  const bool keep = m_eviction && request.signal == SIGTERM && m_job_rules.on_eviction != "delete" &&
                    (m_eviction->retry_follows || m_job_rules.on_eviction == "keep");
  if (keep && m_deleting)  // a deadline has no effect on a job that is being deleted, and its finalizers may hold it for ever
    return decide({result::VerdictClass::interrupted,
                   m_eviction->what + "; the job is being deleted by another client, so it cannot be left to the next attempt", std::nullopt, true,
                   request.signal},
                  at, true);
  if (keep)
    return keep_for_next({result::VerdictClass::interrupted,
                          m_eviction->what + (m_found ? "; the job keeps running for the next attempt" : "; another attempt may follow"),
                          std::nullopt, true, request.signal},
                         at);
  decide({result::VerdictClass::cancelled, m_eviction ? m_eviction->what : "", std::nullopt, false, request.signal}, at, true);
}

void JobRunState::on(const JobKept&, Time /*at*/) {
  if (m_keeping) finish();
}

// If another attempt follows the job, this one – starting, told to stop, or about to judge – was lost, and its process survived.
void JobRunState::on(const JobFollowed&, Time /*at*/) {
  if (m_finished || (m_verdict && !m_removing) || m_last_lines) return;
  const auto signal = m_verdict ? m_verdict->signal : 0;
  auto why = m_verdict ? m_verdict->message : "";
  if (why.empty() && signal != 0) why = result::signal_name(signal) + " received";
  const auto* between = why.empty() ? "" : "; ";
  m_verdict = {result::VerdictClass::interrupted, fmt::format("{}{}another attempt of this step follows the job", why, between), std::nullopt, false,
               signal};
  finish();
}

// It finished between the decision and the DELETE: that counts, and it is handled like any job that has ended.
void JobRunState::on(const JobSpared& spared, Time at) {
  if (!m_verdict || m_last_lines) return;
  warn(fmt::format("the job succeeded anyway, ignoring this: {}", m_verdict->message));
  m_verdict.reset();
  m_removing = m_deleting = m_gave_up = m_listed = m_listed_twice = false;
  m_ends_awaited = m_logs_awaited = true;
  m_judgement = spared.judgement;
  job_ended(at);
  if (m_hurried) conclude_now(at);
}

void JobRunState::on(const BackendFailed& failed, Time at) {
  if (m_keeping && !m_removing) return remove_instead(failed.error, at);
  if (m_verdict) {
    if (m_removing && !m_last_lines) warn("the job may still exist: " + failed.error.message);
    return finish();
  }
  if (m_over) return conclude_now(at);  // nothing more can be seen of it, but its end is known
  if (m_job_rules.looks_on)
    return decide({result::VerdictClass::system,
                   fmt::format("cannot follow {} any more, leaving it unchanged: {}", m_job_rules.job, failed.error.message), std::nullopt, true, 0},
                  at, false);
  decide(result::from_error(failed.error), at, m_found.has_value());
}

void JobRunState::on(const ServerTrouble& trouble, Time at) {
  const bool was_unreachable = std::exchange(m_unreachable, !trouble.reason.empty());
  if (m_unreachable) {
    warn(fmt::format("{}; {}trying again", trouble.reason, m_found && !m_verdict ? "the job keeps running, " : ""));
    if (std::exchange(m_limit_is_due, false)) check_limits(at);  // the user's limits count anyway
    return;
  }
  say("the API server answers again");
  if (!was_unreachable || m_verdict || m_over || !m_found) return;
  // Nothing that could not be seen in the meantime counts.
  m_pending_clock.restart(at);
  m_pending_check.reset();
  start_operator_timer();
  evaluate(at);
}

void JobRunState::on(const TimerFired& fired, Time at) {
  if (m_last_lines && fired.timer == logs_over) {
    warn_of_logs_without_end();
    return finish();
  }
  if (m_verdict) return;
  switch (fired.timer) {
    case heartbeat:
      return beat(at);
    case operator_absent:
      return check_operator(at);
    case pending_over:
      m_pending_check.reset();
      return evaluate(at);
    case deletion_over:
      return check_deletion(at);
    case unexplained:
      return ask_for_events();
    case scheduler_silent:
      return tell_of_schedulers(at);
    case pods_go:
      return tell_of_pods_that_go();
    case waits_beside:
      if (const auto what = goes_on_beside(); !what.empty()) warn(what);
      return;
    case settle_over:
      if (m_judgement.state == State::failed && !first_to_fail() && await_taken()) return;
      m_ends_awaited = false;
      if ((m_judgement.state == State::failed ? !first_to_fail() : primary_is_unseen() || success_is_unproved()) &&
          !std::exchange(m_listed_twice, true)) {
        m_listed = false;  // its former state, perhaps from a server that is behind, and the watch is silent
        return look_again();
      }
      conclude_when_settled(at);
      if (m_verdict || !m_listed) return;
      for (const auto member : logs_without_end())
        say(fmt::format("waiting up to {} for the end of the log of {}", describe(m_job_rules.log_end - m_job_rules.settle),
                        m_rules.members[member].name));
      return;
    case logs_over:
      warn_of_logs_without_end();
      m_ends_awaited = m_logs_awaited = false;
      return conclude_when_settled(at);
    default:
      return check_limits(at);
  }
}

void JobRunState::beat(Time at) {
  const auto beside = goes_on_beside();
  if (at - m_last_sign_of_life >= m_rules.heartbeat)
    say(fmt::format("still {} after {}; no output for {}{}{}", name(m_timeline.current().value_or(result::Phase::queued)), describe(at - m_began),
                    describe(at - m_last_sign_of_life), beside.empty() ? "" : "; ", beside));
  start_timer(heartbeat, m_rules.heartbeat);
}

}  // namespace trainstep::follow
