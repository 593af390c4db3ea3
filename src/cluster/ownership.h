// The labels and annotations by which jobs are found again and recognized. Pure.
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

// Labels and annotations of the job; the first two labels and the spec hash annotation are set by the plan (job_types/object.h).
inline constexpr std::string_view manager_label = "app.kubernetes.io/managed-by";
inline constexpr std::string_view manager = "trainstep";  // its value
inline constexpr std::string_view run_label = "trainstep.dev/run";
inline constexpr std::string_view attempt_annotation =
    "trainstep.dev/created-by";  // random for each process: identifies our own create if its response is lost
inline constexpr std::string_view workflow_label = "trainstep.dev/workflow";  // name of the Workflow, as the value of a label
// When the pod of the attempt that created the job, or follows it, was created (RFC 3339), if by a Workflow.
inline constexpr std::string_view began_annotation = "trainstep.dev/attempt-began";
inline constexpr std::string_view outcome_annotation = "trainstep.dev/outcome";  // "succeeded", "user", …: the step has reported to its pipeline
inline constexpr std::string_view data_annotation = "trainstep.dev/data";        // "gone": what it delivered through its prefix or its record

// Selects the jobs of all runs in a list.
std::string jobs_selector();
// A job is one of a run by both labels: what `run` adopts, ends and deletes is what `list`, `logs`, `attach` and `stop` find.
bool is_of_run(const Json& job, std::string_view run);
// The value of its manager_label.
std::string manager_of(const Json& job);

// Adds labels (pipeline run, workflow) to job and pods, and to the job its attempt and the owner reference to the Workflow; never to the step's pod,
// which Argo may recreate.
void stamp(Json& object, const Facts& facts, const std::string& name_space, const std::string& attempt);

// Makes the step's Workflow, if there is one, the owner of this object.
void own(Json& object, const Facts& facts);

enum class Existing {
  ours,              // created by this process; the response was lost
  later_attempt,     // of the same step, and an attempt that started after this one created it or follows it: this one was lost, and its process
                     // survived
  earlier_attempt,   // of the same step: adopt it
  reported_failure,  // of the same step, failed (or its status counts no success), and its pipeline knows: a retry trains again
  emptied,           // of the same step, finished, but what it delivered no longer exists: it can only be trained again
  lapsed,            // of the same step, kept for the next attempt, and ended because none came in time
  unwanted,          // of the same step, but job_options.reattach forbids it
  terminating,       // it is being deleted
  other_spec,        // the id of this run, but another job, or its data go through another folder
  unknown_spec,      // the id of this run, but nothing says of which inputs
  foreign,           // not ours at all
};
// `object` has the name that we need.
Existing judge_existing(const Json& object, const plan::Plan& plan, const job_types::JobType& job_type, const std::string& attempt,
                        std::optional<Time> began = std::nullopt);
// By its workflow_label.
bool is_of_workflow(const Json& job, const Workflow& workflow);
// Its outcome_annotation, `system` for one that this release does not know; unset: no step has reported how it ended.
std::optional<result::VerdictClass> outcome_of(const Json& job);
// Its began_annotation; unset: it has none.
std::optional<Time> began_by(const Json& job);
// It was created or is followed by an attempt that started after `began`; both times are those of API servers. Unset: it cannot be determined.
bool is_of_later_attempt(const Json& job, std::optional<Time> began);

}  // namespace trainstep::cluster
