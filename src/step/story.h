// Everything that is told about a step after its end: to the pipeline, in the report, in the log's last lines.
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

struct Story {
  const Inputs& inputs;
  const run::Outcome& outcome;
  const plan::Plan* plan = nullptr;           // null: the step ended before there was one
  std::vector<job_types::Replicas> replicas;  // of the plan's kind; empty without a plan
  std::vector<result::Metric> metrics;        // final_metrics() of results.h
  std::string report_place;                   // where the report will lie, for the log; empty: nowhere
  const HeldFolders* folders = nullptr;       // of the files that are written; null: they may go wherever their paths lead now

  [[nodiscard]] bool succeeded() const { return outcome.verdict.verdict_class == result::VerdictClass::succeeded; }
};

}  // namespace trainstep::step
