// The files that KFP v1 displays: mlpipeline-metrics and mlpipeline-ui-metadata.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"
#include "result/metrics.h"

namespace trainstep::step {

// [a-zA-Z]([-_a-zA-Z0-9]{0,62}[a-zA-Z0-9])?
std::string v1_metric_name(std::string_view name);

// {"metrics": [{"name", "numberValue", "format"}]}: the first 50 finite ones; names that become equal get a number, but for one that
// needs no change.
Json v1_metrics(const std::vector<result::Metric>& metrics);

// {"version": 1, "outputs": […]}: `own`, the entries of the program's own file, then a table of the metrics, then the report.
Json v1_ui_metadata(const Json& own, const std::vector<result::Metric>& metrics, std::string_view report);

}  // namespace trainstep::step
