// Lines of libraries that boost trees: one for each round, with the metrics of every data set.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "result/metric_line.h"

namespace trainstep::result {

// XGBoost:  "[0]<tab>train-logloss:0.48206<tab>eval-logloss:0.5"; of a cross-validation "train-rmse:0.5+0.01" the mean counts
// LightGBM: "[1]<tab>training's binary_logloss: 0.6<tab>valid_1's auc: 0.9 + 0.01", which is training_binary_logloss and valid_1_auc
// CatBoost: "0:<tab>learn: 0.65<tab>test: 0.66<tab>best: 0.66 (0)<tab>total: 5ms<tab>remaining: 1s", which is learn and test
// False if the line is none of them.
bool read_boosting(std::string_view text, MetricLine& line);

// What LightGBM says of its data and its start: "[LightGBM] [Info] Start training from score -0.5, pavg=0.51".
bool is_notice(std::string_view text);

}  // namespace trainstep::result
