// The state machine of a running job: events in, orders out. Pure: no clock, no I/O; the same events give the same orders.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "follow/event.h"
#include "follow/rules.h"
#include "result/metrics.h"
#include "result/tail.h"
#include "result/timeline.h"

namespace trainstep::follow {

// One member's life so far.
struct MemberState {
  enum class Life { waiting, starting, running, restarting, succeeded, failed, stopped };
  Life life = Life::waiting;
  std::string place;
  int attempts = 0;
  bool stopping = false;  // we told it to end
  std::optional<Ending> ending;
  std::optional<Time> started, ended;
  result::Tail tail{200, std::size_t{32} << 10U};
};

// Decides by these rules:
//   success   all awaited members have succeeded; servers are stopped at once, others after Rules::linger
//   failure   a member fails and its restarts are used up: it is named as the first, all others are stopped, with a short grace
//   restart   OnFailure and Always after any failure, ExitCode after a signal or a code ≥ 128; each costs one of backoff_limit, with growing pauses
//   stop      on SIGTERM, SIGINT: all members get the signal, then the grace; a second SIGINT ends the grace
//   limits    starting, running, total: timeout
// After a verdict nothing changes it any more; Finish comes when every member has ended.
class Follower {
 public:
  explicit Follower(Rules rules);

  // The first orders; `at` is when the step began.
  std::vector<Action> begin(Time at);
  std::vector<Action> handle(const Event& event);

  [[nodiscard]] const Rules& rules() const { return m_rules; }
  [[nodiscard]] const std::vector<MemberState>& members() const { return m_members; }
  [[nodiscard]] const result::Timeline& timeline() const { return m_timeline; }
  [[nodiscard]] const result::MetricReader& metrics() const { return m_metrics; }
  [[nodiscard]] bool finished() const { return m_finished; }

 private:
  using Actions = std::vector<Action>;

  void on(const Prepared&, Time at);
  void on(const MemberStarted& started, Time at);
  void on(const MemberOutput& output, Time at);
  void on(const MemberEnded& ended, Time at);
  void on(const BackendFailed& failed, Time at);
  void on(const StopRequested& request, Time at);
  void on(const TimerFired& fired, Time at);

  void member_failed(MemberIndex member, Time at);
  [[nodiscard]] bool may_restart(const Ending& ending) const;
  void order_start(MemberIndex member);
  void restart_later(MemberIndex member);
  void limit_passed(std::string_view phase, Duration limit, Time at);
  void succeed(Time at);
  void decide(result::Verdict verdict, Time at);
  void stop_members(Duration grace, bool servers_only);
  void finish_if_all_ended(Time at);
  [[nodiscard]] bool shown(MemberIndex member) const;
  [[nodiscard]] result::FirstFailure failure_of(MemberIndex member) const;
  void start_timer(int timer, const std::optional<Duration>& delay);
  void say(std::string text) { m_actions.emplace_back(Say{std::move(text)}); }

  Rules m_rules;
  std::vector<MemberState> m_members;
  std::vector<bool> m_shown;
  result::Timeline m_timeline;
  result::MetricReader m_metrics;
  result::Progress m_progress;
  std::optional<result::Verdict> m_verdict;
  Actions m_actions;  // of the event being handled
  Time m_began;
  Time m_last_sign_of_life;
  int m_restarts = 0;
  bool m_finished = false;
};

}  // namespace trainstep::follow
