// Metrics that people's programs print in words: "Epoch 1/5, Loss: 0.54, Acc: 91.2%", "step 0: train loss 10.98, val loss 10.97".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "result/metric_line.h"

namespace trainstep::result {

// Whether a value may stand behind a metric's word; cheap.
bool may_have_worded(std::string_view line);

// Reads values behind a phrase of one to four words of which the last is a metric's (metric_words.h), a colon or blanks between them; without a
// colon only numbers that are not whole. The phrase is the name, with underscores: "val_loss". A word that names the data – before a colon, in
// front of an epoch's number, or of an earlier name of the line – is put before those names that say none: "Test set: Average loss: 0.05, …" is
// Test_Average_loss. 91.2% is 91.2; 9825/10000 is 0.9825. What else the line says – times, rates, counts – is not taken.
// Returns whether there was any. Sets the line's step, as well ("iter 10:", "Step [100/600]", "[1,  2000] loss: 2.2").
// Before the names of line.pairs it puts what the line says of them likewise: "train loss=0.5", "Val: acc=0.9".
bool read_worded(std::string_view text, MetricLine& line);

// Puts it there, and reads nothing else.
void name_pairs(std::string_view text, MetricLine& line);

}  // namespace trainstep::result
