// What came out of the training, as values: the final metrics and everything the program returned.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "data/json.h"
#include "result/metrics.h"
#include "run/outcome.h"
#include "step/inputs.h"

namespace trainstep::step {

// An output that holds metrics, by its name: metrics, mlpipeline_metrics, eval-metrics, ….
bool names_metrics(std::string_view output);

// First what the program wrote into its metrics outputs (KFP v2 metadata, then the file, in any shape that read_metrics() knows; other contents are
// left alone), then the last values of the log's curves that it did not write. NaN and infinity are kept.
std::vector<result::Metric> final_metrics(const run::Outcome& outcome, const FileReader& read_file);

// name → number; what is not finite is left out: JSON has no word for it.
Json metrics_object(const std::vector<result::Metric>& metrics);

// Every output of the program by name: values typed, text files of at most 4 KiB as text when no path of the step was mapped to them, all others by
// their address; an output that is not there is null.
Json results_object(const run::Outcome& outcome, const Inputs& inputs, const FileReader& read_file);

// The same value without what KFP and JSON cannot bear: null members go, NaN and infinity become text.
Json without_nulls(const Json& value);

}  // namespace trainstep::step
