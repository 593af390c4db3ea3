// SPDX-License-Identifier: Apache-2.0
#include "follow/job_run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "follow/given_up.h"
#include "follow/job_phase.h"
#include "follow/job_timers.h"
#include "follow/job_verdict.h"
#include "follow/reasons.h"
#include "follow/termination.h"
#include "job_types/conditions.h"

namespace trainstep::follow {

using State = job_types::Judgement::State;
using result::VerdictClass;

namespace {

// Whose logs are read from the first attempt on.
JobPods::Followed followed(const RunState& run) {
  JobPods::Followed members;
  for (MemberIndex i = 0; i < run.members().size(); ++i) members.push_back(run.shown(i) || run.rules().members[i].primary);
  return members;
}

}  // namespace

JobRunState::JobRunState(Rules rules, JobRules job_rules)
    : RunState(std::move(rules)),
      m_job_rules(std::move(job_rules)),
      m_logs(m_actions),
      m_pods(m_rules, followed(*this), m_members, m_logs, m_metrics, m_actions),
      m_pending(m_rules, m_job_rules.is_observer, m_actions),
      m_clock(m_rules, m_timeline, m_actions),
      m_operator(m_job_rules, m_actions),
      m_wait(m_rules, m_job_rules, m_logs, m_actions),
      m_removal(m_job_rules, m_rules.policy, m_actions) {
  if (m_job_rules.is_observer) m_rules.limits = {};
}

std::vector<Action> JobRunState::begin(Time at) {
  m_began = m_last_sign_of_life = at;
  m_clock.begin(at);
  start_timer(JobTimer::heartbeat, m_rules.heartbeat);
  return m_actions.take();
}

std::vector<Action> JobRunState::handle(const Event& event) {
  if (!m_finished) std::visit([&](const auto& what) { on(what, event.at); }, event.what);
  return m_actions.take();
}

void JobRunState::on(const BackendMessage& told, Time) { told.warning ? warn(told.text) : info(told.text); }

void JobRunState::on(const JobFound& found, Time at) {
  m_clock.see(found, at);
  m_restarts_are_ours = m_job_rules.restarts_are_ours && !m_job_rules.is_observer && !found.backoff_is_kept;
  m_operator.start();
  m_clock.start_timer(result::Phase::queued, m_pods, at);
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
  if (m_judgement.state == State::suspended && !was_suspended) {
    info("suspended: queued, or waiting to be resumed");
    m_pods.suspended();
  }
  if (was_suspended && m_judgement.state != State::suspended) info("resumed");
  evaluate(at);
}

// Its pods may succeed while it is being deleted, and its status may say so.
void JobRunState::going(const std::string& finalizers) {
  const auto before = std::exchange(m_finalizers, finalizers);
  const bool first = !std::exchange(m_deleting, true);
  if (!first && before == finalizers) return;
  warn(fmt::format("{} is being deleted by another client; waiting for {}", m_job_rules.job,
                   finalizers.empty() ? "it to be gone" : fmt::format("its finalizers ({})", finalizers)));
  if (first) start_timer(JobTimer::deletion_over, m_job_rules.deletion);
}

// After a background deletion by another client its pods run until its finalizers are gone; our own DELETE removes them first.
void JobRunState::check_deletion(Time at) {
  if (m_verdict || m_over) return;
  m_deletion_is_due = !m_fresh;
  if (!m_fresh) return refresh();
  bool runs_on = false;
  for (MemberIndex i = 0; i < m_pods.size(); ++i) runs_on = runs_on || (m_pods.pod(i) != nullptr && !m_pods.pod(i)->over());
  decide(held_by_finalizers(m_job_rules, m_finalizers), at, runs_on);
}

void JobRunState::on(const JobGone&, Time at) {
  if (m_verdict && m_removal.await_last_lines(*m_verdict, m_logs)) return;
  if (m_verdict) return finish();
  if (m_over || !m_clock.found()) return;
  decide(deleted_by_others(m_job_rules, ""), at, false);
}

void JobRunState::on(const PodSeen& seen, Time at) {
  const auto& member = m_rules.members[seen.member];
  if (member.primary && m_clock.remember_runs(seen.pod, member.container) && m_timeline.current() == result::Phase::running)
    m_clock.start_timer(result::Phase::running, m_pods, at);
  const auto change = m_pods.see(seen, stage(), at);
  m_last_sign_of_life = change.sign_of_life.value_or(m_last_sign_of_life);
  if (!change.newest) return;
  m_pending.look_at(seen.member, seen.pod, at);
  evaluate(at);
}

void JobRunState::on(const PodGone& gone, Time at) {
  const auto change = m_pods.gone(gone, stage(), at);
  m_last_sign_of_life = change.sign_of_life.value_or(m_last_sign_of_life);
  if (!change.newest) return;
  m_pending.forget(gone.member);
  evaluate(at);
}

void JobRunState::on(const WarningSeen& seen, Time at) {
  if (m_pending.hear(seen)) evaluate(at);
}

void JobRunState::on(const PodWarningSeen& seen, Time at) {
  if (m_pending.hear(seen, m_pods, at)) evaluate(at);
}

void JobRunState::on(const MemberOutput& output, Time at) {
  result::Tail nobodys;
  auto* tail = m_pods.tail_for(output);
  take_output(output, at, tail != nullptr ? *tail : nobodys);
}

void JobRunState::on(const LogComplete& complete, Time at) {
  m_logs.complete(complete);
  if (m_removal.awaits_last_lines() && !m_logs.go_on()) return finish();
  conclude_when_settled(at);
}

void JobRunState::on(const CancelSeen& seen, Time at) {
  m_hurried = true;
  if (m_verdict) return;
  if (m_over) return conclude_now(at);
  decide(cancelled(seen.what, 0), at, true);
}

void JobRunState::on(const EvictionSeen& seen, Time) { m_eviction = seen; }

void JobRunState::on(const StopRequested& request, Time at) {
  m_hurried = true;
  if (m_removal.awaits_last_lines()) return finish();
  if (m_verdict) {
    if (m_removal.keeping()) return;  // its deadline is being written, which takes some seconds of the grace; without it the job would have no end
    // Argo sends SIGTERM repeatedly, which is not a sign of impatience.
    if (request.signal != SIGINT && !m_job_rules.at_shell) return;
    m_removal.warn_unfinished();
    return finish();
  }
  if (m_over) return conclude_now(at);
  if (!m_eviction) return decide(cancelled("", request.signal), at, true);
  // An eviction was read from the API server after the signal, whatever happened to other requests; in doubt it is a cancel.
  const bool keep =
      request.signal == SIGTERM && m_job_rules.on_eviction != "delete" && (m_eviction->retry_follows || m_job_rules.on_eviction == "keep");
  if (!keep) return decide(cancelled(m_eviction->what, request.signal), at, true);
  if (m_deleting) return decide(not_left_deleting(*m_eviction, request.signal), at, true);
  keep_for_next(left_to_next(*m_eviction, m_clock.found(), request.signal), at);
}

void JobRunState::on(const JobKept&, Time /*at*/) {
  if (m_removal.keeping()) finish();
}

// If another attempt follows the job, this one (starting, stopping, or about to report) was lost, and its process survived.
void JobRunState::on(const JobFollowed&, Time /*at*/) {
  if (m_finished || (m_verdict && !m_removal.removing()) || m_removal.awaits_last_lines()) return;
  m_verdict = followed_by_another(m_verdict ? &*m_verdict : nullptr);
  finish();
}

// It finished between the decision and the DELETE: that counts, and it is handled like any job that has ended.
void JobRunState::on(const JobSucceededFirst& spared, Time at) {
  if (!m_verdict || m_removal.awaits_last_lines()) return;
  warn(fmt::format("the job succeeded anyway; ignoring: {}", m_verdict->message));
  m_verdict.reset();
  m_removal.spared();
  m_deleting = m_gave_up = false;
  m_wait.restart();
  m_judgement = spared.judgement;
  job_ended(at);
  if (m_hurried) conclude_now(at);
}

void JobRunState::on(const BackendFailed& failed, Time at) {
  if (m_removal.keeping() && m_verdict && m_eviction) {
    auto instead = not_left(*m_eviction, failed.error, m_verdict->signal);
    m_removal.not_kept();
    m_verdict.reset();
    return decide(std::move(instead), at, true);
  }
  if (m_verdict) {
    if (m_removal.removing() && !m_removal.awaits_last_lines()) warn("the job may still exist: " + failed.error.message);
    return finish();
  }
  if (m_over) return conclude_now(at);  // nothing more can be seen of it, but its end is known
  if (m_job_rules.is_observer) return decide(lost_sight(m_job_rules, failed.error), at, false);
  decide(result::from_error(failed.error), at, m_clock.found());
}

void JobRunState::on(const ServerTrouble& trouble, Time at) {
  const bool was_unreachable = std::exchange(m_unreachable, !trouble.reason.empty());
  if (m_unreachable) {
    warn(fmt::format("{}; {}trying again", trouble.reason, m_clock.found() && !m_verdict ? "the job keeps running; " : ""));
    if (std::exchange(m_limit_is_due, false)) check_limits(at);  // the user's limits count anyway
    return;
  }
  info("the API server is responding again");
  if (!was_unreachable || m_verdict || m_over || !m_clock.found()) return;
  // Nothing that could not be seen in the meantime counts.
  m_pending.restart(at);
  m_operator.start();
  evaluate(at);
}

// The job and the pods are watched separately: only pods that were listed after the job's final status show everything about its end.
void JobRunState::on(const PodsListed&, Time at) {
  if (m_verdict) return;
  if (!m_over) return looked(at);
  m_refreshing = false;
  m_wait.listed();
  conclude_when_settled(at);
}

void JobRunState::on(const TimerFired& fired, Time at) {
  if (m_removal.awaits_last_lines() && fired.timer == JobTimer::logs_over) {
    m_wait.warn_of_logs_without_end();
    return finish();
  }
  if (m_verdict) return;
  switch (fired.timer) {
    case JobTimer::heartbeat:
      return beat(at);
    case JobTimer::operator_absent:
      return check_operator(at);
    case JobTimer::pending_over:
      m_pending.timer_fired();
      return evaluate(at);
    case JobTimer::deletion_over:
      return check_deletion(at);
    case JobTimer::unexplained:
      return m_pending.ask_for_events(m_pods);
    case JobTimer::scheduler_silent:
      m_pending.tell_of_schedulers(m_pods);
      return evaluate(at);
    case JobTimer::pods_go:
      return m_pending.tell_of_pods_that_go(m_pods, m_over || m_deleting || m_judgement.state == State::suspended);
    case JobTimer::waits_beside:
      if (const auto what = m_pods.describe_running_sidecar(); !what.empty()) warn(what);
      return;
    case JobTimer::settle_over:
      return settle_is_over(at);
    case JobTimer::logs_over:
      m_wait.stop();
      return conclude_when_settled(at);
    default:
      return check_limits(at);
  }
}

void JobRunState::beat(Time at) {
  const auto beside = m_pods.describe_running_sidecar();
  if (at - m_last_sign_of_life >= m_rules.heartbeat)
    info(fmt::format("still {} after {}; no output for {}{}{}", name(m_timeline.current().value_or(result::Phase::queued)), describe(at - m_began),
                     describe(at - m_last_sign_of_life), beside.empty() ? "" : "; ", beside));
  start_timer(JobTimer::heartbeat, m_rules.heartbeat);
}

JobFacts JobRunState::facts() const {
  return {.rules = &m_rules,
          .job_rules = &m_job_rules,
          .judgement = &m_judgement,
          .members = &m_members,
          .pods = &m_pods,
          .pending = m_pending.told(),
          .hidden = m_hidden,
          .gave_up = m_gave_up};
}

JobPods::Stage JobRunState::stage() const {
  return {.suspended = m_judgement.state == State::suspended, .over = m_over, .decided = m_verdict.has_value()};
}

void JobRunState::evaluate(Time at) {
  if (m_verdict || !m_clock.found()) return;
  if (m_over) return conclude_when_settled(at);
  if (m_judgement.state == State::succeeded || m_judgement.state == State::failed) return job_ended(at);
  if (m_deleting) return;  // its pods are being deleted: that they are missing is neither a new phase nor a fault of the operator
  m_clock.enter(phase_of(facts(), m_pending.by_quota()), m_pods, at);
  check_pending(at);
  if (!m_verdict) check_restarts(at);
}

void JobRunState::check_pending(Time at) {
  const JobPending::Now now{.suspended = m_judgement.state == State::suspended, .unreachable = m_unreachable, .fresh = m_fresh};
  auto outcome = m_pending.check(m_pods, now, at);
  if (outcome.refresh) refresh();
  if (outcome.verdict) decide(*std::move(outcome.verdict), at, true);
}

void JobRunState::refresh() {
  if (!std::exchange(m_refreshing, true)) m_actions.add(Refresh{});
}

void JobRunState::looked(Time at) {
  m_refreshing = false;
  m_fresh = true;
  if (std::exchange(m_operator_is_due, false)) check_operator(at);
  if (std::exchange(m_limit_is_due, false)) check_limits(at);
  if (std::exchange(m_deletion_is_due, false)) check_deletion(at);
  evaluate(at);
  m_fresh = false;
}

void JobRunState::check_operator(Time at) {
  if (m_verdict || m_over || m_deleting || m_unreachable || m_judgement.state != State::unknown || m_pods.any() || !m_hidden.empty() ||
      m_pending.any_warning())
    return;
  if (!m_operator.is_absent()) return;
  m_operator_is_due = !m_fresh;
  if (!m_fresh) return refresh();
  decide(no_operator(m_job_rules), at, true);
}

void JobRunState::check_restarts(Time at) {
  if (!m_restarts_are_ours || m_pods.failures() <= m_rules.policy.backoff_limit) return;
  // Its operator treats these exit codes as permanent, and ends the job itself.
  if (const auto first = facts().first_to_fail(); m_rules.policy.restart_policy == "ExitCode" && first) {
    const auto code = first->state->end().exit_code;
    if (code > 0 && code < 128) return;
  }
  m_gave_up = true;
  m_judgement = {State::failed, "BackoffLimitExceeded", fmt::format("job_options.run_policy.backoff_limit is {}", m_rules.policy.backoff_limit)};
  job_ended(at);
}

void JobRunState::check_limits(Time at) {
  if (m_verdict || m_over) return;  // the rest is short and has its own limit
  const auto passed = [&](const result::Verdict& verdict) {
    m_limit_is_due = m_clock.found() && !m_fresh && !m_unreachable;
    if (m_limit_is_due) return refresh();
    decide(verdict, at, true);
  };
  if (const auto limit = m_clock.total_exceeded(at)) return passed(total_exceeded(m_rules, *limit, m_pending.told()));
  const auto phase = m_timeline.current();
  if (!phase) return;
  evaluate(at);  // if it has a cause, the job ends because of that, and the cause is reported instead of the limit
  if (m_verdict || m_over || m_timeline.current() != phase) return;
  if (const auto limit = m_clock.exceeded(*phase, m_pods, at)) passed(limit_exceeded(m_rules, *phase, *limit, m_pending.told()));
}

void JobRunState::job_ended(Time at) {
  m_over = true;
  m_clock.enter(result::Phase::finishing, m_pods, at);
  m_refreshing = false;  // what was asked before the end does not count
  refresh();
}

// There is no time for the rest of the logs.
void JobRunState::conclude_now(Time at) {
  m_wait.stop_now();
  conclude_when_settled(at);
}

void JobRunState::settle_is_over(Time at) {
  if (m_wait.await_taken(facts())) return;
  if (m_wait.list_again(facts())) return refresh();
  conclude_when_settled(at);
  if (!m_verdict && m_wait.was_listed()) m_wait.tell_of_awaited_logs();
}

void JobRunState::conclude_when_settled(Time at) {
  const auto known = facts();
  if (!m_over || m_verdict || !m_wait.settled(known)) return;
  if (const auto first = known.first_to_fail(); first && first->state != &m_members[first->member])
    m_pods.open_previous_log(first->member);
  else if (first && known.failed() && m_pods.pod(first->member) != nullptr && m_pods.began(first->member))
    m_pods.open_log(first->member);
  m_pods.end_all_logs();
  if (m_wait.logs_may_come()) return;
  if (known.succeeded() && !known.is_success_unconfirmed()) m_wait.warn_of_missing_log(known);
  auto verdict = end_verdict(known);
  if (verdict.verdict_class == VerdictClass::succeeded && m_wait.primary_was_read(known)) warn_of_unmatched();
  decide(std::move(verdict), at, m_gave_up);
}

void JobRunState::decide(result::Verdict verdict, Time at, bool remove) {
  if (m_verdict) return;
  const bool awaited = m_removal.begin(verdict, remove, m_clock.found());
  m_verdict = std::move(verdict);
  m_timeline.enter(result::Phase::finishing, at);
  if (!awaited) finish();
}

void JobRunState::keep_for_next(result::Verdict verdict, Time at) {
  const bool awaited = m_removal.keep();
  m_verdict = std::move(verdict);
  m_timeline.enter(result::Phase::finishing, at);
  if (!awaited) finish();
}

void JobRunState::finish() {
  if (m_finished || !m_verdict) return;
  m_finished = true;
  m_actions.add(Finish{*m_verdict});
}

}  // namespace trainstep::follow
