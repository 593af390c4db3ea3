// A job as it was last seen: what keeping or ending it depends on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "cluster/attempt_order.h"
#include "data/json.h"
#include "plan/plan.h"
#include "result/verdict.h"

namespace trainstep::cluster {

inline constexpr std::string_view is_followed = "another attempt of this step is following the job; leaving it unchanged";

class SeenJob {
 public:
  // References must outlive it. `attempt`: random, identifies this process.
  SeenJob(const plan::Plan& plan, std::string attempt, AttemptOrder& order) : m_plan(plan), m_attempt(std::move(attempt)), m_order(&order) {}
  // Instead of the one given before.
  void ordered_by(AttemptOrder& order) { m_order = &order; }
  [[nodiscard]] AttemptOrder& order() const { return *m_order; }

  // Its first state. Who follows it then is an earlier attempt, whatever caused the look – unless we have created the job.
  void found(const Json& object);
  void take(const Json& object);
  // By this process's own submission: another attempt follows it, and has started later.
  void set_followed(bool followed) { m_taken_over = m_later = followed; }
  // One of its pods has run.
  void set_begun();
  // Its deadline is removed.
  void set_lifted() { m_has_keep_deadline = false; }

  [[nodiscard]] const std::string& version() const { return m_version; }  // resourceVersion
  [[nodiscard]] std::optional<Time> started() const { return m_started; }
  // The end that the job's step has reported to its pipeline; unset: none.
  [[nodiscard]] std::optional<result::VerdictClass> reported_class() const { return m_reported_class; }
  // It has a deadline of an earlier attempt (cluster/keep_deadline.h).
  [[nodiscard]] bool has_keep_deadline() const { return m_has_keep_deadline; }
  // cluster/keep_deadline.h, own_deadline().
  [[nodiscard]] std::optional<Duration> deadline() const { return m_deadline; }
  // It is suspended and has not started.
  [[nodiscard]] bool waits() const { return m_waits; }
  // Another attempt of the step follows it …
  [[nodiscard]] bool is_taken_over() const { return m_taken_over; }
  // … which has started after this one.
  [[nodiscard]] bool is_later() const { return m_later; }
  // The same of another state of the job.
  [[nodiscard]] bool is_taken_over(const Json& object) const;

 private:
  const plan::Plan& m_plan;
  std::string m_attempt;
  AttemptOrder* m_order;
  std::string m_follower_before;  // of the job as it was found
  std::string m_version;
  std::optional<Time> m_started;
  std::optional<result::VerdictClass> m_reported_class;
  std::optional<Duration> m_deadline;
  bool m_has_keep_deadline = false;
  bool m_begun = false;  // it has run at some time: suspending a job may remove its start time
  bool m_waits = false;
  bool m_taken_over = false;
  bool m_later = false;
};

}  // namespace trainstep::cluster
