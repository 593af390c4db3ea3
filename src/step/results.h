// The results of the training as values: the final metrics and everything the program returned.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"
#include "result/metrics.h"
#include "run/outcome.h"
#include "step/inputs.h"
#include "step/step_summary.h"

namespace trainstep::step {

// Larger files do not hold metrics.
inline constexpr std::size_t max_metrics_file_size = std::size_t{16} << 20U;

// Whether an output of this name holds metrics: metrics, mlpipeline_metrics, eval-metrics, ….
bool names_metrics(std::string_view output);

// The curves of the log, and those of TensorBoard logs among the outputs whose names the log does not have, or only with one value. If several
// outputs have one of the same name, all but the first are prefixed with their output: "logs/loss".
std::vector<result::MetricSeries> curves_of(const run::Outcome& outcome);

// What the program wrote to its metrics outputs (KFP v2 metadata, then the file, in any form that read_metrics() knows; other contents are ignored),
// the last values of the curves of the log, the Floats that it returned by name, and the last values of curves_of(); in this order, each name once.
// If several have the same name, a metrics output takes precedence over a returned value, that over the log, and that over TensorBoard. An output
// holds metrics if its own name says so, or the name of the step's path that it was mapped to. NaN and infinity are kept.
std::vector<result::Metric> final_metrics(const run::Outcome& outcome, const FileReader& read_file);

// For those of these files that cannot be read: why, one sentence each.
std::vector<std::string> unread_metrics(const run::Outcome& outcome, const FileReader& read_file);

// What stands in an output that is named after metrics, but is not a number: one sentence each for what stays in its file, and for what the step
// omits when it writes the file.
std::vector<std::string> other_members(const run::Outcome& outcome, const FileReader& read_file);

// Whether the program left a model, or gave its location. Metadata alone do not count, nor does a value of that name.
bool has_model(const run::Outcome& outcome);

// name → number; non-finite values are omitted, because JSON cannot express them.
Json metrics_object(const std::vector<result::Metric>& metrics);
// name → number, including NaN and infinity, for callers that handle them.
Json all_metrics(const std::vector<result::Metric>& metrics);

// Names the values that metrics_object() omits from a metrics file, in one sentence; nullopt: there are none, or no such file.
std::optional<std::string> left_out_metrics(const StepSummary& summary);

// A value in a form that read_metrics() knows, as its text.
std::optional<std::string> metrics_text(const run::OutputFound& value);

// All outputs of the program by name: values with their types, text files of at most 4 KiB as strings if they were not mapped to a path of the step,
// all others as their address; null for a missing output.
Json results_object(const run::Outcome& outcome, const Inputs& inputs, const FileReader& read_file);

}  // namespace trainstep::step
