// SPDX-License-Identifier: Apache-2.0
#include "follow/gang_run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "follow/describe.h"
#include "follow/triage.h"

namespace trainstep::follow {
namespace {

using Life = MemberState::Life;

// Timers below `restart` exist once; restart + n belongs to member n.
enum Timer : int { limit_starting, limit_running, limit_total, linger_over, heartbeat, stop_overdue, limit_finishing, restart };

// How long after the grace the backend may take to report the ends of killed members.
constexpr Duration stop_slack{15'000};

bool alive(const MemberState& state) { return state.life == Life::starting || state.life == Life::running || state.life == Life::restarting; }

bool has_succeeded(const std::optional<result::Verdict>& verdict) { return verdict && verdict->verdict_class == result::VerdictClass::succeeded; }

std::string_view plural(std::size_t count) { return count == 1 ? "" : "s"; }

}  // namespace

std::vector<Action> GangRunState::begin(Time at) {
  m_began = m_last_sign_of_life = at;
  m_timeline.enter(result::Phase::starting, at);
  start_timer(limit_starting, m_rules.limits.starting);
  start_timer(limit_total, m_rules.limits.total);
  start_timer(heartbeat, m_rules.heartbeat);
  return m_actions.take();
}

std::vector<Action> GangRunState::handle(const Event& event) {
  // Messages that the backend sends while it collects the outputs are logged after the end.
  if (!m_finished || std::holds_alternative<BackendMessage>(event.what)) std::visit([&](const auto& what) { on(what, event.at); }, event.what);
  return m_actions.take();
}

void GangRunState::on(const Prepared&, Time) {
  if (m_verdict) return;
  for (MemberIndex i = 0; i < m_members.size(); ++i)
    if (m_rules.members[i].started) order_start(i);
}

void GangRunState::on(const MemberStarted& started, Time at) {
  auto& state = m_members[started.member];
  state.life = Life::running;
  state.ran_on = started.ran_on;
  state.started = at;
  state.ending.reset();
  if (++state.attempts > 1) m_metrics.begin(started.member, {});
  if (m_verdict && !state.stopping) {  // the verdict was made between the order and the start
    state.stopping = true;
    m_actions.add(StopMember{started.member, m_rules.policy.stop_grace});
    return;
  }
  bool all = true;
  for (MemberIndex i = 0; i < m_members.size(); ++i)
    all = all && !(m_rules.members[i].started && (m_members[i].life == Life::waiting || m_members[i].life == Life::starting));
  if (!all || m_timeline.current() == result::Phase::running || m_verdict) return;
  m_timeline.enter(result::Phase::running, at);
  start_timer(limit_running, m_rules.limits.running);
  info("running");
}

void GangRunState::on(const MemberOutput& output, Time at) { take_output(output, at, m_members[output.member].tail); }

void GangRunState::on(const MemberEnded& ended, Time at) {
  auto& state = m_members[ended.member];
  state.ending = ended.ending;
  state.ended = at;
  m_last_sign_of_life = at;
  state.life = ended.ending.succeeded() ? Life::succeeded : state.stopping ? Life::stopped : Life::failed;
  if (!m_verdict) {
    if (state.life == Life::failed) member_failed(ended.member, at);
    if (state.life == Life::succeeded) succeed(at);
  } else if (m_verdict->verdict_class == result::VerdictClass::succeeded && state.life == Life::failed) {
    tell_late_failure(ended.member);
  }
  finish_if_all_ended(at);
}

void GangRunState::member_failed(MemberIndex member, Time at) {
  const auto failure = failure_of(member);
  if (may_restart(m_members[member].end())) {
    restart_later(member);
    return;
  }
  decide(failed_verdict(failure, m_restarts), at);
}

bool GangRunState::may_restart(const Termination& ending) const {
  constexpr int first_retryable_code = 128;  // as the training operator's ExitCode policy does (docs/design/operators.md, Restarts)
  const auto& policy = m_rules.policy;
  if (m_restarts >= policy.backoff_limit || policy.restart_policy == "Never") return false;
  return policy.restart_policy != "ExitCode" || ending.signal || ending.exit_code >= first_retryable_code;
}

void GangRunState::order_start(MemberIndex member) {
  m_members[member].life = Life::starting;
  m_actions.add(StartMember{member, m_members[member].attempts});
}

void GangRunState::restart_later(MemberIndex member) {
  const auto pause = Duration(std::min(1000 << std::min(m_restarts, 5), 30'000));
  ++m_restarts;
  auto& state = m_members[member];
  state.life = Life::restarting;
  warn(fmt::format("{}; restarting it in {} (restart {} of {})", describe(failure_of(member)), describe(pause), m_restarts,
                   m_rules.policy.backoff_limit));
  state.tail.clear();
  m_actions.add(SetTimer{restart + static_cast<int>(member), pause});
}

void GangRunState::succeed(Time at) {
  for (MemberIndex i = 0; i < m_members.size(); ++i)
    if (m_rules.members[i].awaited && m_members[i].life != Life::succeeded) return;
  m_verdict = result::Verdict{result::VerdictClass::succeeded, "", std::nullopt, false, 0};
  m_timeline.enter(result::Phase::finishing, at);
  stop_members(m_rules.policy.stop_grace, true);
  start_timer(linger_over, m_rules.linger);
  start_timer(limit_finishing, m_rules.limits.finishing);
}

// Its operator does not count it either (docs/design/operators.md, Success and failure): the job has reached its purpose.
void GangRunState::tell_late_failure(MemberIndex member) {
  const auto failure = failure_of(member);
  warn(fmt::format("{} after the training had succeeded; ignored", describe(failure)));
  if (failure.last_lines.empty()) return;
  warn(fmt::format("the last lines of {}:", failure.replica));
  for (const auto& line : failure.last_lines) warn("  | " + line);
}

void GangRunState::decide(result::Verdict verdict, Time at) {
  if (m_verdict) return;
  m_verdict = std::move(verdict);
  m_timeline.enter(result::Phase::finishing, at);
  const auto running = static_cast<std::size_t>(std::count_if(m_members.begin(), m_members.end(), alive));
  if (running > 0) info(fmt::format("stopping {} replica{}", running, plural(running)));
  const auto grace = m_rules.policy.stop_grace;
  stop_members(m_verdict->verdict_class == result::VerdictClass::user ? std::min(grace, m_rules.failure_grace) : grace, false);
  finish_if_all_ended(at);
}

void GangRunState::stop_members(Duration grace, bool servers_only) {
  for (MemberIndex i = 0; i < m_members.size(); ++i) {
    auto& state = m_members[i];
    const auto& member = m_rules.members[i];
    if (!member.started || (servers_only && !member.serves)) continue;
    if (state.life == Life::restarting) state.life = Life::failed;
    if (state.life != Life::running) continue;
    state.stopping = true;
    m_actions.add(StopMember{i, grace});
  }
  start_timer(stop_overdue, (servers_only ? m_rules.linger : Duration{}) + grace + stop_slack);
}

void GangRunState::finish_if_all_ended(Time at) {
  if (!m_verdict || m_finished || std::any_of(m_members.begin(), m_members.end(), alive)) return;
  m_finished = true;
  m_timeline.enter(result::Phase::finishing, at);
  if (m_verdict->verdict_class == result::VerdictClass::succeeded) warn_of_unmatched();
  m_actions.add(Finish{*m_verdict});
}

void GangRunState::on(const BackendFailed& failed, Time at) {
  for (auto& state : m_members)
    if (state.life == Life::starting) state.life = Life::stopped;  // it will never start
  decide(result::from_error(failed.error), at);
}

void GangRunState::on(const StopRequested& request, Time at) {
  const bool again = std::exchange(m_stop_requested, true);
  const auto received = result::describe_stop(request.signal);
  if (has_succeeded(m_verdict)) {
    info(received + ": the training's outputs are not delivered");
    m_verdict.reset();
  } else if (!m_verdict) {
    info(received + ": cancelling the training");
  } else if (again) {
    if (request.signal == SIGINT) stop_members(Duration{}, false);
    return;
  } else {
    return info(received + ": the replicas are already being stopped" + (request.signal == SIGINT ? "; a second SIGINT kills them" : ""));
  }
  decide({result::VerdictClass::cancelled, "", std::nullopt, false, request.signal}, at);
}

void GangRunState::on(const TimerFired& fired, Time at) {
  switch (fired.timer) {
    case limit_starting:
      if (m_timeline.current() == result::Phase::starting) limit_passed("starting", m_rules.limits.starting, at);
      return;
    case limit_running:
      limit_passed("running", m_rules.limits.running, at);
      return;
    case limit_total:
      limit_passed("total", m_rules.limits.total, at);
      return;
    case limit_finishing:
      limit_passed("finishing", m_rules.limits.finishing, at);
      return;
    case linger_over:
      end_linger(fmt::format("{} after the training succeeded", describe(m_rules.linger)));
      return;
    case stop_overdue:
      for (auto& state : m_members)
        if (alive(state)) state.life = Life::stopped;
      finish_if_all_ended(at);
      return;
    case heartbeat:
      if (at - m_last_sign_of_life >= m_rules.heartbeat && !m_verdict)
        info(fmt::format("still running after {}; no output for {}", describe(at - m_began), describe(at - m_last_sign_of_life)));
      start_timer(heartbeat, m_rules.heartbeat);
      return;
    default:
      break;
  }
  const auto member = static_cast<MemberIndex>(fired.timer - restart);
  if (!m_verdict && m_members.at(member).life == Life::restarting) order_start(member);
}

void GangRunState::limit_passed(std::string_view phase, const std::optional<Duration>& limit, Time at) {
  if (!limit) return;
  const auto passed = fmt::format("the limit of {} for {} ({}) was exceeded", describe_limit(*limit), phase == "total" ? "the whole step" : phase,
                                  limit_option(m_rules, phase));
  if (!has_succeeded(m_verdict)) return decide({result::VerdictClass::timeout, passed, std::nullopt, false, 0}, at);
  if (phase == "total" || phase == "finishing") end_linger(fmt::format("after the training succeeded, and {}", passed));
}

// The training has succeeded: nothing that happens to the others makes it a failure, but they get no more time.
void GangRunState::end_linger(const std::string& why) {
  for (MemberIndex i = 0; i < m_members.size(); ++i)
    if (m_rules.members[i].started && !m_members[i].stopping && alive(m_members[i]))
      warn(fmt::format("{} is still running {}; stopping it before reading the outputs", m_rules.members[i].name, why));
  stop_members(m_rules.policy.stop_grace, false);
}

result::FirstFailure GangRunState::failure_of(MemberIndex member) const { return first_failure(m_rules, m_members, member); }

}  // namespace trainstep::follow
