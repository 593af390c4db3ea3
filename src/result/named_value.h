// Stores a value under the name that the program gave it: `epoch`, `step` and the like are the position in the training, others are metrics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "result/metric_line.h"

namespace trainstep::result {

enum class Meaning {
  epoch,
  epochs,  // how many there will be: "max_epochs"
  step,
  nothing,  // known not to be a metric: Lightning's "v_num"
  metric,   // any other name
};
Meaning meaning_of(std::string_view name);

// Whether the name is used only for values of a training run: "val_loss", not "alpha".
bool tells_result(std::string_view name);

std::optional<std::int64_t> whole(double value);

// Stores the value as epoch, step or metric, depending on its name. `of`: the second number of "epoch=3/10"; a metric with one is not stored.
void add_value(MetricLine& line, std::string_view name, double value, std::optional<double> of = {});

// Stores what a user's pattern found: like add_value(), but a metric with a second number is stored as the quotient.
void put_value(MetricLine& line, std::string_view name, double value, std::optional<double> of);

// Removes everything that the line says under that name.
void drop_value(MetricLine& line, std::string_view name);

// A value of an object or a pair: 0.3, or "0.3", as printed by the Trainer of transformers 5; then sets `quoted`. Consumes it from the front of
// `rest`.
std::optional<double> take_member(std::string_view& rest, bool& quoted);

}  // namespace trainstep::result
