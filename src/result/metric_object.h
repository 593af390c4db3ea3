// Reads a line that is one flat JSON object or Python dict of numbers, or that ends in one.
//   {"epoch": 1, "loss": 0.3, "eval_accuracy": "0.91"}
//   2024-01-01 00:00:00 - INFO - {'loss': 0.4, 'top 5 acc': 0.9}
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "result/metric_line.h"

namespace trainstep::result {

// The whole line. If values are quoted, there must be the name of a metric. Returns whether the line has this form.
bool read_flat_object(std::string_view text, MetricLine& line);

// An object after other text, which may contain the epoch: "epoch 0: {'accuracy': 0.68}". It must have the name of a metric.
bool read_object_behind(std::string_view text, MetricLine& line);

}  // namespace trainstep::result
