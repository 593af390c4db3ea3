// Reads what one line of a log says about the training.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "result/metrics.h"

namespace trainstep::result {

struct MetricLine {
  struct Place {
    std::size_t begin = 0, end = 0;
    std::string_view label{};  // what stands before it: "Best" in "Best: loss=0.2"
  };
  std::vector<Metric> metrics;   // without epoch and step
  std::vector<Place> pairs;      // the positions in the text of the first metrics, those given as name=value
  std::vector<Metric> if_known;  // counts only for names that earlier lines have told: "epoch 2 loss 1"
  std::optional<double> epoch;   // given on this line
  std::optional<double> step;
  Progress progress;
  bool of_epoch = false;  // a Keras line: it belongs to the epoch announced before
};

// Cheap pre-check. False for nearly all lines of a log.
bool may_have_metrics(std::string_view line);

// Each reads one form; false if the line does not have it. `text` is clean: no colors, carriage returns or rank prefix.
bool read_pairs(std::string_view text, MetricLine& line);
bool read_keras(std::string_view text, MetricLine& line);
bool read_flat_object(std::string_view text, MetricLine& line);
// "Epoch 3/10", "epoch [3/10]", and at the start of a line "Epoch 3". `anywhere`: also elsewhere, where it does not count as progress.
bool read_epoch(std::string_view text, MetricLine& line, bool anywhere);

class MetricTable;

// Reads all forms: the above, boosting_rounds.h, metric_table.h, metric_sentence.h. Strips redrawn versions, colors and prefixes first. `table`: the
// table begun by earlier lines of the log.
MetricLine read_metric_line(std::string_view line, MetricTable& table);

// Strips redrawn versions, colors and the rank prefix. The result may point into `storage`.
std::string_view clean_line(std::string_view line, std::string& storage);

// Stores a value under a name that may be a metric, an epoch, a step, …: like `name=value`; a fraction is stored as its quotient.
void put_value(MetricLine& line, std::string_view name, double value, std::optional<double> of);
// Removes everything that the line says under that name.
void drop_value(MetricLine& line, std::string_view name);

}  // namespace trainstep::result
