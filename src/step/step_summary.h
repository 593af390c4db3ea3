// Everything that is reported about a step after its end: to the pipeline, in the report, in the last lines of the log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "job_types/job_type.h"
#include "plan/plan.h"
#include "result/metrics.h"
#include "run/outcome.h"
#include "step/held_folders.h"
#include "step/inputs.h"

namespace trainstep::step {

struct StepSummary {
  const Inputs& inputs;
  const run::Outcome& outcome;
  const plan::Plan* plan = nullptr;           // null: the step ended before it had one
  std::vector<job_types::Replicas> replicas;  // of the job type; empty without a plan
  std::vector<result::Metric> metrics;        // final_metrics() of results.h
  std::string report_location;                // where the report will be, for the log; empty: nowhere
  const HeldFolders* folders = nullptr;       // of the files that are written; null: not checked

  [[nodiscard]] bool succeeded() const { return outcome.verdict.verdict_class == result::VerdictClass::succeeded; }
};

}  // namespace trainstep::step
