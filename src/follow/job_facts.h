// What is known of a job at one moment, as a value for the functions that decide its phase (job_phase.h) and its verdict (job_verdict.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "follow/first_to_fail.h"
#include "follow/job_pods.h"
#include "follow/job_rules.h"
#include "follow/pending.h"
#include "follow/run_state.h"
#include "job_types/job_type.h"

namespace trainstep::follow {

// Everything that it points to must outlive it.
struct JobFacts {
  const Rules* rules;
  const JobRules* job_rules;
  const job_types::Judgement* judgement;  // of the job's status
  const std::vector<MemberState>* members;
  const JobPods* pods;
  const Pending* pending;   // the most serious obstacle, as it was reported last; null: none
  std::string_view hidden;  // why the pods cannot be seen; empty: they can
  bool gave_up = false;     // we did: it has failed more often than allowed

  [[nodiscard]] bool failed() const { return judgement->state == job_types::Judgement::State::failed; }
  [[nodiscard]] bool succeeded() const { return judgement->state == job_types::Judgement::State::succeeded; }
  [[nodiscard]] bool awaited_have_succeeded() const;
  // A pod of the primary exists, and was not seen running: nothing of its log has been read.
  [[nodiscard]] bool primary_is_unseen() const;
  // For example of a job that creates no pod (completions: 0).
  [[nodiscard]] bool is_success_unconfirmed() const;
  // How this member ended was seen.
  [[nodiscard]] bool end_is_known(MemberIndex member) const;
  [[nodiscard]] std::optional<Culprit> first_to_fail() const;
  // Operators mark a job as failed when its pod is drained, preempted or lost, while that pod is still in its grace period. The first such member.
  [[nodiscard]] std::optional<MemberIndex> taken() const;
  // The same, if how it ended is not known and none failed before it was marked: those that did, lost it.
  [[nodiscard]] std::optional<MemberIndex> taken_first() const;
};

}  // namespace trainstep::follow
