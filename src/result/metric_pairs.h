// Reads values that are given as name=value.
//   epoch=3/10 loss=0.12, accuracy=93%
//   validation: acc = 0.91 (n=100)
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "result/metric_line.h"

namespace trainstep::result {

// Reads all pairs of a line into line.metrics, with their places in line.pairs, and the epoch and the step. Not read: options (--lr=0.1), URLs, `==`,
// arguments of calls, settings, NAME=1 of an environment dump, indented code. The words before a name are not read here: metric_sentence.h extends
// the names by them. Returns whether the line has any.
bool read_pairs(std::string_view text, MetricLine& line);

}  // namespace trainstep::result
