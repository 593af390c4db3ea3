// What all state machines of a running job have: members, their logs, a timeline. Pure: no clock, no I/O; the same events give the same actions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/json.h"
#include "follow/actions.h"
#include "follow/attempt_metrics.h"
#include "follow/event.h"
#include "follow/rules.h"
#include "result/metrics.h"
#include "result/tail.h"
#include "result/timeline.h"

namespace trainstep::follow {

// The state of a member; its last attempt counts.
struct MemberState {
  enum class Life { waiting, starting, running, restarting, succeeded, failed, stopped };
  Life life = Life::waiting;
  std::string ran_on;  // "pid 4711", the name of a node; empty: never started
  int attempts = 0;
  bool stopping = false;  // it was ended by us
  std::optional<Termination> ending;
  std::optional<Time> started, ended;
  result::Tail tail{200, std::size_t{32} << 10U};
  // If none was seen: an end that says nothing.
  [[nodiscard]] Termination end() const { return ending.value_or(Termination{}); }
};

// Decides what happens next. Nothing changes after a verdict.
class RunState {
 public:
  explicit RunState(Rules rules);
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;
  virtual ~RunState() = default;

  // The first actions; `at` is when the step started.
  virtual std::vector<Action> begin(Time at) = 0;
  virtual std::vector<Action> handle(const Event& event) = 0;

  // The first line of a record (record.h).
  [[nodiscard]] virtual Json record_head(Time began) const = 0;

  [[nodiscard]] const Rules& rules() const { return m_rules; }
  [[nodiscard]] const std::vector<MemberState>& members() const { return m_members; }
  [[nodiscard]] const result::Timeline& timeline() const { return m_timeline; }
  [[nodiscard]] const result::MetricReader& metrics() const { return m_metrics.counted(); }
  [[nodiscard]] bool finished() const { return m_finished; }
  // Whether the output of this member is to be shown (Rules::logs).
  [[nodiscard]] bool shown(MemberIndex member) const { return m_shown[member]; }

 protected:
  // Handles output of a member: shows it if requested, reads metrics if it is from the attempt of the primary that counts, and keeps its end in
  // `tail` for the triage.
  void take_output(const MemberOutput& output, Time at, result::Tail& tail);
  // Warns of metric definitions that matched nothing in the attempt whose metrics count; after a success.
  void warn_of_unmatched();
  void info(std::string text) { m_actions.info(std::move(text)); }
  void warn(std::string text) { m_actions.warn(std::move(text)); }
  void start_timer(int timer, const std::optional<Duration>& delay) { m_actions.start_timer(timer, delay); }

  Rules m_rules;
  std::vector<MemberState> m_members;
  result::Timeline m_timeline;
  std::optional<result::Verdict> m_verdict;
  Actions m_actions;  // of the event being handled
  AttemptMetrics m_metrics;
  Time m_began;
  Time m_last_sign_of_life;
  bool m_finished = false;

 private:
  std::vector<bool> m_shown;
  result::Progress m_progress;
  bool m_told_full = false;
  bool m_told_nul = false;
};

}  // namespace trainstep::follow
