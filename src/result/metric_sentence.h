// Reads values that are named by words, as in a sentence.
//   Epoch 1/5, Loss: 0.54, Acc: 91.2%
//   step 0: train loss 10.98, val loss 10.97
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "result/metric_line.h"

namespace trainstep::result {

// Reads values after a phrase of one to four words of which the last names a metric (metric_words.h), separated by a colon, a cell's border or blanks
// (sentence_separators.h); after blanks only non-integers. The phrase is the name, with underscores: "val_loss". A word that names the data – before
// a colon, before an epoch's number, or in an earlier name of the line – is prepended to names that contain none: "Test set: Average loss: 0.05, …"
// is Test_Average_loss. 91.2% is 91.2; 9825/10000 is 0.9825. Everything else – times, rates, counts – is ignored. Returns whether any was found. Also
// sets the line's step ("iter 10:", "Step [100/600]", "[1,  2000] loss: 2.2"). Likewise prepends to the names of line.pairs what the line says about
// them: "train loss=0.5", "Val: acc=0.9".
bool read_sentence(std::string_view text, MetricLine& line);

// Only extends the names of line.pairs.
void name_pairs(std::string_view text, MetricLine& line);

}  // namespace trainstep::result
