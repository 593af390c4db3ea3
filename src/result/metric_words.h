// The words that name metrics of a training run. `name=0.3` is recognizable as a named value by its form; "loss 0.3" and "Acc: 91%" only by the word.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace trainstep::result {

enum class MetricKind {
  none,
  rate,    // lr, error: also a setting, or not a number of a training run; a metric next to another one, or with an epoch or step
  usual,   // loss, score, precision: also a setting; a metric as above, or of a named part of the data ("val loss"), or capitalized ("Loss: 0.3")
  result,  // accuracy, auc, f1: always a metric
};

// For one word: "loss", "val_loss", "Acc@1", "mAP50-95", "train/loss_cls", "testAcc". None if it also contains a word for settings: "loss_scale".
MetricKind metric_kind(std::string_view word);

// For the last two words of a phrase: "learning rate", "grad norm", "lm loss value", "f1 score".
MetricKind metric_kind(std::string_view before, std::string_view last);

// Cheap pre-check: false if no name of a metric ends with this word.
bool may_end_name(std::string_view word);

// train, test, val, …: the data that a value was measured on.
bool names_data(std::string_view word);
// A part of the word names the data: "val_loss".
bool holds_data(std::string_view word);
// best, average, …: the following value is a result. Also true if only a part of the word says so.
bool holds_outcome(std::string_view word);
// "best", "previous": the value is not the current one.
bool holds_reference(std::string_view word);
// target, minimum, …: the following value is a setting, not a result.
bool names_setting(std::string_view word);
// Also true if only a part of the word says so.
bool holds_setting(std::string_view word);
// target, minimum, …: one that is still to be reached.
bool names_goal(std::string_view word);
// s, ms, min, hours, …: a unit of time.
bool names_time_unit(std::string_view word);
// iteration, step, batch, …
bool names_step(std::string_view word);

}  // namespace trainstep::result
