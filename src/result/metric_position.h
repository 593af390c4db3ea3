// Reads where in the training a line is: its epoch, and a step at its start.
//   Epoch 3/10
//   [1,  2000] loss: 2.2
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "result/metric_line.h"

namespace trainstep::result {

// Cheap pre-check.
inline bool names_epoch(std::string_view text) { return text.find("poch") != std::string_view::npos || text.find("POCH") != std::string_view::npos; }

// "Epoch 3/10", "epoch [3/10]", and at the start of a line "Epoch 3". `anywhere`: also elsewhere, where it does not count as progress. Of another
// epoch than the current one, "best epoch 3", only if the line names no other.
bool read_epoch(std::string_view text, MetricLine& line, bool anywhere);

// "[1,  2000] loss: 2.2" is epoch 1, batch 2000, as is "[1/5][2000/9000] Loss_D: 0.5"; "[3/100] 1 tree, train loss: 0.5" is step 3;
// "Train: 0 [  50/1251 (  4%)]  Loss: 6.9" is epoch 0.
void read_bracketed_position(std::string_view text, MetricLine& line);

}  // namespace trainstep::result
