// The words by which people call a training's metrics. `name=0.3` says itself that it is a value with a name; of "loss 0.3" and "Acc: 91%" only
// the word does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace trainstep::result {

enum class MetricKind {
  none,
  rate,    // lr, error: also a setting, or no number of a training at all; a metric beside another, or with an epoch or step
  usual,   // loss, score, precision: also a setting; as above, or of a named part of the data ("val loss"), or written as a title ("Loss: 0.3")
  result,  // accuracy, auc, f1: never anything else
};

// Of one word: "loss", "val_loss", "Acc@1", "mAP50-95", "train/loss_cls", "testAcc". None if it also holds a word of settings: "loss_scale".
MetricKind metric_kind(std::string_view word);

// Of the last words of a phrase: "learning rate", "grad norm", "lm loss value", "f1 score".
MetricKind metric_kind(std::string_view before, std::string_view last);

// Cheap: false where no metric's name ends with this word.
bool may_end_name(std::string_view word);

// train, test, val, …: which data a value is of.
bool names_data(std::string_view word);
// So does a part of the word: "val_loss".
bool holds_data(std::string_view word);
// best, average, …: what follows is an outcome; or a part of the word says so.
bool holds_outcome(std::string_view word);
// target, minimum, …: what follows is a wish.
bool names_setting(std::string_view word);
// iteration, step, batch, …
bool names_step(std::string_view word);

}  // namespace trainstep::result
