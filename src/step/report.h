// The report for people: an HTML page, and the last lines of the log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "step/step_summary.h"

namespace trainstep::step {

// A self-contained page: no script, nothing loaded from the network, light and dark, readable on a phone. Shows the verdict, the first failure with
// its log lines, phases, metric curves, replicas, the requested values, outputs and parameters. Values whose names sound secret are not shown.
std::string render_report(const StepSummary& summary);

// The lines at the end of the log, including failures (KFP v2 keeps nothing else of a failed step). Plain text without newlines.
std::vector<std::string> closing_lines(const StepSummary& summary);

}  // namespace trainstep::step
