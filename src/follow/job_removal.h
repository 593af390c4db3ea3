// Decides what becomes of the job when the step ends: it is deleted, left to the next attempt for a while, or left unchanged. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "follow/actions.h"
#include "follow/job_logs.h"
#include "follow/job_rules.h"
#include "plan/options.h"
#include "result/verdict.h"

namespace trainstep::follow {

class JobRemoval {
 public:
  // All references must outlive it.
  JobRemoval(const JobRules& rules, const plan::RunPolicy& policy, Actions& actions) : m_rules(rules), m_policy(policy), m_actions(actions) {}

  // The step ends with this verdict. `remove`: the job would go on without end, or is of no use any more. `found`: there is one. True: RemoveJob was
  // ordered, and its result is awaited.
  bool begin(const result::Verdict& verdict, bool remove, bool found);
  // The step ends, and another attempt follows. True: KeepJob was ordered, and its result is awaited.
  bool keep();
  // It could not be kept.
  void not_kept() { m_keeping = false; }
  // It has succeeded before it was deleted, and is not.
  void spared() { m_removing = false; }
  // It is deleted. True: the output of its programs is awaited, which is shown if there is time; the timer logs_over ends that.
  bool await_last_lines(const result::Verdict& verdict, const JobLogs& logs);
  // The wait for operations in progress is ended.
  void warn_unfinished();

  [[nodiscard]] bool removing() const { return m_removing; }
  [[nodiscard]] bool keeping() const { return m_keeping; }
  [[nodiscard]] bool awaits_last_lines() const { return m_last_lines; }

 private:
  const JobRules& m_rules;
  const plan::RunPolicy& m_policy;
  Actions& m_actions;
  bool m_removing = false;    // RemoveJob was ordered
  bool m_keeping = false;     // KeepJob was ordered
  bool m_last_lines = false;  // the job is deleted, and the logs of its pods are read during their grace
};

}  // namespace trainstep::follow
