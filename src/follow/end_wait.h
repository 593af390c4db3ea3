// Decides what is still awaited after the end of a job, before its verdict – a list of its pods, their ends, the rest of their logs –, and reports
// what of it is missing. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "follow/actions.h"
#include "follow/job_facts.h"
#include "follow/job_logs.h"

namespace trainstep::follow {

class EndWait {
 public:
  // Messages and timers go to `actions`. All references must outlive it.
  EndWait(const Rules& rules, const JobRules& job_rules, const JobLogs& logs, Actions& actions)
      : m_rules(rules), m_job_rules(job_rules), m_logs(logs), m_actions(actions) {}

  // The job has ended once more: all of it is awaited again.
  void restart();
  // The job and its pods were listed after its end: only such pods show everything about it. Starts the timers settle_over and logs_over.
  void listed();
  // settle_over: a pod that is being taken away, and would explain a failure, gets longer once, for its grace. True: it is awaited.
  bool await_taken(const JobFacts& facts);
  // settle_over: the pods have had their time to end. True: but none that was listed shows how it ended, perhaps because the server is behind; they
  // are to be listed once more.
  bool list_again(const JobFacts& facts);
  // logs_over: the logs have had theirs.
  void stop();
  // There is no time for anything, not even for a list.
  void stop_now();

  [[nodiscard]] bool was_listed() const { return m_listed; }
  // The pods were listed, and have ended as far as it matters for the verdict.
  [[nodiscard]] bool settled(const JobFacts& facts) const { return m_listed && !ends_may_come(facts); }
  // Logs are awaited.
  [[nodiscard]] bool logs_may_come() const { return m_logs_awaited && !m_logs.without_end().empty(); }
  // The logs of all attempts of the primary were read, from the first line to the last, for the metrics.
  [[nodiscard]] bool primary_was_read(const JobFacts& facts) const;

  void tell_of_awaited_logs() const;
  void warn_of_logs_without_end() const;
  // For example of a job that was found after its pods were removed: its metrics cannot be read.
  void warn_of_missing_log(const JobFacts& facts) const;

 private:
  [[nodiscard]] bool ends_may_come(const JobFacts& facts) const;

  const Rules& m_rules;
  const JobRules& m_job_rules;
  const JobLogs& m_logs;
  Actions& m_actions;
  bool m_listed = false;         // waiting for the pods, after the end of the job
  bool m_listed_twice = false;   // … because no pod that was listed after the end of the job shows how it ended
  bool m_ends_awaited = true;    // the pods may end after the job
  bool m_grace_awaited = false;  // … of a pod that is being taken away, for its grace
  bool m_logs_awaited = true;
};

}  // namespace trainstep::follow
