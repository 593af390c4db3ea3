// Parses the lines that gradient boosting libraries print for each round.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "result/metric_line.h"

namespace trainstep::result {

// XGBoost    [3]<TAB>train-logloss:0.48+0.01<TAB>eval-logloss:0.55
// LightGBM   [3]<TAB>training's auc: 0.96<TAB>valid_1's auc: 0.92 + 0.008
// CatBoost   3:<TAB>learn: 0.44<TAB>test: 0.43<TAB>best: 0.43 (0)<TAB>total: 49.3ms<TAB>remaining: 936ms
// The number is the step; deviations, and values with a unit, are ignored. "training's auc" becomes training_auc. A time before the line ([08:12:33],
// as printed by XGBoost's tracker) is skipped. Returns whether the line has this form.
bool read_rounds(std::string_view text, MetricLine& line);

// Cheap pre-check.
bool may_have_rounds(std::string_view line);

}  // namespace trainstep::result
