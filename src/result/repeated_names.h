// Values of one name in a line are of several things: each is named after its overlap, or after the words before it.
//   IoU=0.50 AP=0.6 IoU=0.75 AP=0.4    AP@0.50=0.6 AP@0.75=0.4
//   train: loss=0.5 valid: loss=0.6    train_loss=0.5 valid_loss=0.6
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "result/metric_line.h"

namespace trainstep::result {

// If nothing tells which of several values of a name is the current one, none of them counts. `text` is the line.
void tell_apart(std::string_view text, MetricLine& line);

}  // namespace trainstep::result
