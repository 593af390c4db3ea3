// What one line of a log says about the training. read_metric_line() tries the forms in the order of this table.
//
//   form                    example                                            file
//   object                  {"epoch": 1, "loss": 0.3}                          metric_object.h
//   progress of Keras       45/45 [====] - 1s 2ms/step - loss: 0.12            keras_progress.h
//   round of boosting       [3]<TAB>train-logloss:0.48<TAB>eval-logloss:0.55   boosting_rounds.h
//   table                   epoch     train_loss  valid_loss  accuracy         metric_table.h, coco_summary.h, delimited_table.h, wandb_summary.h
//   pairs                   epoch=3/10 loss=0.12, accuracy=93%                 metric_pairs.h
//   sentence                Epoch 1/5, Loss: 0.54, Acc: 91.2%                  metric_sentence.h
//   position alone          Epoch 3/10                                         metric_position.h
//   the user's own pattern  any                                                metric_patterns.h
//
// How a line is read: may_have_metrics() drops most lines by a few searches for signs and words. The others are cleaned of colors, redrawn versions
// and prefixes (clean_line.h); lines of commands, settings and tracebacks end there (excluded_lines.h). The forms down to the table are exclusive:
// the first that fits has the whole line. Pairs, sentence and position complement each other: pairs are read first, then the words between them,
// which complete their names and have values of their own, then an epoch, if none was found. sentence_reader.h describes how a sentence is walked.
// "step=10 | loss 0.5" has a pair and a sentence: step and loss are both read. A value of a sentence that may be something else counts only if an
// earlier line has given its name (MetricLine::if_known; decided in SentenceReader::store() and take_values() of metric_sentence.cpp).
// The user's patterns are applied last and replace what was found under their names. MetricReader (metrics.h) makes curves of the values.
//
// To have another line read: put it with its metrics into tests/unit/result/data/logs (the line that starts with "   -> "), lines that must stay
// unread into ordinary.txt there, and change the form that it is closest to. docs/adr/0028 has the reasons for what counts.
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
    std::string_view label{};  // the text before it: "Best" in "Best: loss=0.2"
  };
  std::vector<Metric> metrics;   // without epoch and step
  std::vector<Place> pairs;      // the positions in the text of the first metrics, those given as name=value
  std::vector<Metric> if_known;  // used only for names that earlier lines contain: "epoch 2 loss 1"
  std::vector<Metric> if_new;    // used only for other names: they are rounded
  std::optional<double> epoch;   // given on this line
  std::optional<double> step;
  Progress progress;
  bool of_epoch = false;  // a Keras line: it belongs to the epoch announced before
};

// Cheap pre-check. False for nearly all lines of a log.
bool may_have_metrics(std::string_view line);

class MetricTable;

// Reads all forms but the user's patterns. `table`: the table begun by earlier lines of the log.
MetricLine read_metric_line(std::string_view line, MetricTable& table);

}  // namespace trainstep::result
