// What we write on a job so that it can be found again, and what we read there. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cluster/facts.h"
#include "job_types/job_type.h"
#include "plan/plan.h"
#include "result/verdict.h"

namespace trainstep::cluster {

// Labels and annotations of the job; the run's label and the spec hash's annotation are the plan's (kinds/object.h).
inline constexpr std::string_view run_label = "trainstep.dev/run";
inline constexpr std::string_view attempt_annotation =
    "trainstep.dev/created-by";                                               // random for each process: tells our own lost reply from another's
inline constexpr std::string_view workflow_label = "trainstep.dev/workflow";  // the Workflow's name, as a label's value
// When the pod of the attempt that has made the job, or follows it, was created (RFC 3339), where a Workflow has made that pod.
inline constexpr std::string_view began_annotation = "trainstep.dev/attempt-began";
inline constexpr std::string_view outcome_annotation = "trainstep.dev/outcome";  // "succeeded", "user", …: the step has told its pipeline
inline constexpr std::string_view data_annotation = "trainstep.dev/data";        // "gone": what it has delivered through its prefix or its record

// Adds labels (pipeline run, workflow) to job and pods, and to the job its attempt and the owner reference to the Workflow; never to the step's pod,
// which Argo may make anew.
void stamp(Json& object, const Facts& facts, const std::string& name_space, const std::string& attempt);

// Makes the step's Workflow, if there is one, the owner of this object.
void own(Json& object, const Facts& facts);

enum class Existing {
  ours,              // this very process made it; the answer was lost
  later_attempt,     // the same step's, and one that has begun after this one has made it or follows it: this one was lost, and has lived on
  earlier_attempt,   // the same step's: adopt it
  reported_failure,  // the same step's, failed (or its status counts no success), and its pipeline knows: a retry trains anew
  emptied,           // the same step's, finished, but what it delivered is there no more: it can only be trained anew
  lapsed,            // the same step's, kept for the next attempt, and ended because none came in time
  unwanted,          // the same step's, but job_options.reattach does not want it
  terminating,       // it is being deleted
  other_spec,        // this run's id, but another job, or its data go through another folder
  unknown_spec,      // this run's id, but nothing says of which inputs
  foreign,           // not ours at all
};
// `object` has the name that we wanted.
Existing judge_existing(const Json& object, const plan::Plan& plan, const job_types::JobType& job_type, const std::string& attempt,
                        std::optional<Time> began = std::nullopt);
// By its workflow_label.
bool is_of_workflow(const Json& job, const Workflow& workflow);
// Its outcome_annotation, one that this release does not know as `system`; unset: no step has told how it ended.
std::optional<result::VerdictClass> outcome_of(const Json& job);
// Its began_annotation; unset: it has none.
std::optional<Time> began_by(const Json& job);
// An attempt has made it, or follows it, that began after `began`; both times are API servers'. Unset: it cannot be known.
bool is_of_later_attempt(const Json& job, std::optional<Time> began);

}  // namespace trainstep::cluster
