// What came out of the training, as values: the final metrics and everything the program returned.
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
#include "step/story.h"

namespace trainstep::step {

// Larger files are nobody's metrics.
inline constexpr std::size_t longest_metrics_file = std::size_t{16} << 20U;

// A name of an output that holds metrics: metrics, mlpipeline_metrics, eval-metrics, ….
bool names_metrics(std::string_view output);

// The curves of the log, and those of TensorBoard logs among the outputs whose names the log has not, or only with one value. Of one name in several
// outputs all but the first bear their output's: "logs/loss".
std::vector<result::MetricSeries> curves_of(const run::Outcome& outcome);

// What the program wrote into its metrics outputs (KFP v2 metadata, then the file, in any shape that read_metrics() knows; other contents are left
// alone), the last values of the log's curves, the Floats that it returned by name, and the last values of curves_of(); in this order, each name
// once. Where several have a name, what was written into a metrics output counts before what was returned, that before the log, and that before
// TensorBoard. An output's own name says that it holds metrics, or that of the step's path that it was mapped to. NaN and infinity are kept.
std::vector<result::Metric> final_metrics(const run::Outcome& outcome, const FileReader& read_file);

// Of these files, those that cannot be read: why, a sentence each.
std::vector<std::string> unread_metrics(const run::Outcome& outcome, const FileReader& read_file);

// Whether the program left a model, or said where it is. Metadata alone are none, nor is a value of that name.
bool has_model(const run::Outcome& outcome);

// name → number; what is not finite is left out: JSON has no word for it.
Json metrics_object(const std::vector<result::Metric>& metrics);
// name → number, NaN and infinity too: for who reads or writes words or texts for them.
Json all_metrics(const std::vector<result::Metric>& metrics);

// Those that metrics_object() leaves out of a file of metrics, a sentence; none: there are none, or no such file.
std::optional<std::string> left_out_metrics(const Story& story);

// A value in a shape that read_metrics() knows, as its text.
std::optional<std::string> metrics_text(const run::OutputFound& value);

// Every output of the program by name: values typed, text files of at most 4 KiB as text when no path of the step was mapped to them, all others by
// their address; an output that is not there is null.
Json results_object(const run::Outcome& outcome, const Inputs& inputs, const FileReader& read_file);

}  // namespace trainstep::step
