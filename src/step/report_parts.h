// The sections of the report, as HTML; empty if there is nothing to show. Private to the module.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "result/verdict.h"
#include "step/step_summary.h"

namespace trainstep::step {

// report_head.cpp
std::string headline_part(const StepSummary& summary);
std::string failure_part(const StepSummary& summary);
std::string phases_part(const StepSummary& summary);
std::string footer_part(const StepSummary& summary);
// report_metrics.cpp
std::string metrics_part(const StepSummary& summary);
// report_tables.cpp
std::string replicas_part(const StepSummary& summary);
std::string requested_part(const StepSummary& summary);
std::string outputs_part(const StepSummary& summary);
std::string parameters_part(const StepSummary& summary);

// The program wrote it, but the step failed before it was moved to its destination.
bool was_not_committed(const StepSummary& summary, const run::OutputFound& output);
// "Succeeded", "Training failed", …
std::string_view headline(result::VerdictClass verdict_class);
// "PyTorch, 2 workers"; empty without a plan.
std::string kind_text(const StepSummary& summary);
// "2026-11-21 08:15:30 UTC"
std::string time_text(Time time);

}  // namespace trainstep::step
