// Metrics in a program's sentences: "Epoch 1/5, Loss: 0.5432, Acc: 91.2%", "iter 10: loss 3.2", "Test set: Average loss: 0.05, Accuracy: 98/100
// (98%)". SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "result/metric_line.h"

namespace trainstep::result {

// Adds what a name of known words (metric_words.h) says in front of a number, with a colon or a blank between them. What tells a metric from any
// other number:
//   - one word of the name must be a metric's; the others must be known beside it ("Average loss"), so "packet loss: 3.1" is none
//   - a whole number, a blank instead of the colon, words of several meanings ("error", "score") and learning rates need a line that also says how
//     far the training is ("epoch 3", "iter 10") or has another metric
// Names of several words are joined: "Val Loss" is val_loss. On a line about a test all names get its word: "Test set: Average loss: 0.05" is
// test_loss. "Loss 6.9 (7.0)" is value and average, of which the average counts; "98/100 (98%)" is 98, "98/100" is 0.98. `text` as for read_pairs(),
// whose metrics may already stand in `line`.
bool read_prose(std::string_view text, MetricLine& line);

}  // namespace trainstep::result
