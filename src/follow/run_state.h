// What every state machine of a running job has: members, their logs, a timeline. Pure: no clock, no I/O; the same events give the same orders.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/json.h"
#include "follow/event.h"
#include "follow/rules.h"
#include "result/metric_patterns.h"
#include "result/metrics.h"
#include "result/tail.h"
#include "result/timeline.h"

namespace trainstep::follow {

// One member's life so far; the last attempt counts.
struct MemberState {
  enum class Life { waiting, starting, running, restarting, succeeded, failed, stopped };
  Life life = Life::waiting;
  std::string place;
  int attempts = 0;
  bool stopping = false;  // we told it to end
  std::optional<Termination> ending;
  std::optional<Time> started, ended;
  result::Tail tail{200, std::size_t{32} << 10U};
  // None was seen: an ending that says nothing.
  [[nodiscard]] Termination end() const { return ending.value_or(Termination{}); }
};

// Decides what happens next. After a verdict nothing changes it any more.
class RunState {
 public:
  explicit RunState(Rules rules);
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;
  virtual ~RunState() = default;

  // The first orders; `at` is when the step began.
  virtual std::vector<Action> begin(Time at) = 0;
  virtual std::vector<Action> handle(const Event& event) = 0;

  // What record.h writes as the first line.
  [[nodiscard]] virtual Json record_head(Time began) const = 0;

  [[nodiscard]] const Rules& rules() const { return m_rules; }
  [[nodiscard]] const std::vector<MemberState>& members() const { return m_members; }
  [[nodiscard]] const result::Timeline& timeline() const { return m_timeline; }
  [[nodiscard]] const result::MetricReader& metrics() const { return m_metrics; }
  [[nodiscard]] bool finished() const { return m_finished; }
  // Whether that member's output is wanted (Rules::logs).
  [[nodiscard]] bool shown(MemberIndex member) const { return m_shown[member]; }

 protected:
  // A member's output: shown if it is wanted, read for metrics if it is of the primary's attempt that counts; its end is kept in `tail` for the
  // triage.
  void take_output(const MemberOutput& output, Time at, result::Tail& tail);
  // An attempt of this member begins. If it runs the primary, metrics are its own alone: those of the attempt before are of no model that is there.
  // `attempt`: whose output counts from now on, as MemberOutput names it.
  void begin_metrics(MemberIndex member, std::string_view attempt);
  // The latest attempt did nothing: those of the one before it count again. `unseen`: nobody has followed one before it; `doubtful`: that has none,
  // and may not be the one that has trained to the end.
  enum class Resumed { unseen, doubtful, well };
  Resumed resume_metrics();
  // Definitions of the user's that have found nothing in the attempt whose metrics count: of a training that has succeeded.
  void warn_of_unmatched();
  void say(std::string text) { m_actions.emplace_back(Say{std::move(text)}); }
  void warn(std::string text) { m_actions.emplace_back(Say{std::move(text), true}); }
  void start_timer(int timer, const std::optional<Duration>& delay) {
    if (delay) m_actions.emplace_back(SetTimer{timer, *delay});
  }
  std::vector<Action> take_actions() { return std::exchange(m_actions, {}); }

  Rules m_rules;
  std::vector<MemberState> m_members;
  result::Timeline m_timeline;
  std::optional<result::Verdict> m_verdict;
  std::vector<Action> m_actions;  // of the event being handled
  Time m_began;
  Time m_last_sign_of_life;
  bool m_finished = false;

 private:
  std::vector<bool> m_shown;
  bool m_rank_inside;        // the primary is a rank that another member starts (a local mpirun), whose own words then belong to it
  std::string m_metrics_of;  // the attempt; empty: there is but one at a time
  result::MetricReader m_metrics;
  std::string m_metrics_before_of;  // the attempt before it; empty: none was followed
  result::MetricReader m_metrics_before;
  bool m_metrics_dropped = false;  // of an attempt before both
  result::Progress m_progress;
  bool m_told_full = false;
  bool m_told_nul = false;
};

}  // namespace trainstep::follow
