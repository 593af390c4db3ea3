// What one line of a log says about the training.
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
  };
  std::vector<Metric> metrics;  // without epoch and step
  std::vector<Place> pairs;     // where in the text the first of them stand, as name=value
  std::optional<double> epoch;  // said on this very line
  std::optional<double> step;
  Progress progress;
  bool of_epoch = false;  // a Keras line: it belongs to the epoch that was announced before
};

// Cheap: whether the line could say anything. False for nearly all lines of a log.
bool may_have_metrics(std::string_view line);

// Each reads one form; false if the line does not have it. `text` is clean: no colours, carriage returns or rank prefix.
bool read_pairs(std::string_view text, MetricLine& line);
bool read_keras(std::string_view text, MetricLine& line);
bool read_flat_object(std::string_view text, MetricLine& line);
// "Epoch 3/10", "epoch [3/10]", and at the start of a line "Epoch 3". `anywhere`: also elsewhere, where it is no progress.
bool read_epoch(std::string_view text, MetricLine& line, bool anywhere);

class MetricTable;

// All forms: these, boosting_rounds.h, metric_table.h, worded_metrics.h. Takes redrawn versions, colours and prefixes off first. `table`: the one
// that the log's earlier lines have begun.
MetricLine read_metric_line(std::string_view line, MetricTable& table);

// Without redrawn versions, colours and the prefix of a rank. `storage` may hold what is returned.
std::string_view clean_line(std::string_view line, std::string& storage);

// A value of a name that is a metric, an epoch, a step, …: as `name=value`; of a fraction its quotient.
void put_value(MetricLine& line, std::string_view name, double value, std::optional<double> of);
// All that the line says under that name.
void drop_value(MetricLine& line, std::string_view name);

}  // namespace trainstep::result
