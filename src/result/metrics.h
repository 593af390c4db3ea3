// Metrics: curves collected from a program's log as it prints, and what it wrote at its end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "result/metric_table.h"

namespace trainstep::result {

// One value with a name. `value` may be NaN or infinite: writers decide what their format does with it.
struct Metric {
  std::string name;
  double value = 0;
  bool percentage = false;  // the program asked to show it as a percentage (v1 "format": "PERCENTAGE")
};

// How far the training is, as the program itself says ("epoch=3/10", "Epoch 3/10", "epoch": 3).
struct Progress {
  std::optional<std::int64_t> epoch;
  std::optional<std::int64_t> epochs;
  bool operator==(const Progress&) const = default;
};

struct MetricPoint {
  double x = 0;  // on the series' axis
  double value = 0;
  Time time;
};

struct MetricSeries {
  enum class Axis { epoch, step, count };  // what the line said beside the value, or just the how-manieth value it is
  std::string name;
  Axis axis = Axis::count;
  std::vector<MetricPoint> points;  // at most 2000, thinned out evenly; the last one is always kept
};

struct MetricLine;
class MetricPatterns;

// Reads a log line by line. Understood:
//   name=value pairs between blanks, commas, brackets (Katib's format): "epoch=3/10 loss=0.12, accuracy=93%"
//   Keras: "Epoch 3/10", "45/45 [====] - 1s 2ms/step - loss: 0.12 - val_loss: 0.2", Keras 3's bars, colours, carriage returns
//   a line that is one flat JSON object or Python dict of numbers: {"epoch": 1, "loss": 0.3}
//   rounds of gradient boosting (boosting_rounds.h), tables (metric_table.h), a metric's word and a number (worded_metrics.h)
// Not taken: options (--lr=0.1), URLs, paths, `==`, NAME=1 of an environment dump, indented code, numbers with other letters behind them, lines of
// settings (a=True, b=None, …).
// And what the user's own patterns find (metric_patterns.h), which alone say what their names mean.
// Names are [A-Za-z][A-Za-z0-9_.-/]*, also with a threshold (metric_text.h). Bounded: 2000 names, of the first 200 a curve, of the others the last
// value. A line of more than longest_line is read in the pieces in which it comes, as if each were a line.
class MetricReader {
 public:
  MetricReader() = default;
  // Null: none are defined. Readers that share them know what either has found.
  explicit MetricReader(std::shared_ptr<MetricPatterns> patterns) : m_patterns(std::move(patterns)) {}

  // One line, with or without its newline; carriage returns inside separate redrawn versions, of which the last counts.
  void feed(std::string_view line, Time at);

  [[nodiscard]] const Progress& progress() const { return m_progress; }
  // There were more names than are taken.
  [[nodiscard]] bool full() const { return m_full; }
  // Null: none are defined.
  [[nodiscard]] const MetricPatterns* patterns() const { return m_patterns.get(); }
  // In the order in which the names appeared.
  [[nodiscard]] std::vector<MetricSeries> series() const;
  // The last value of each name, in the same order.
  [[nodiscard]] std::vector<Metric> latest() const;

 private:
  struct Curve {
    MetricSeries series;
    std::uint64_t count = 0;   // values seen
    std::uint64_t stride = 1;  // every stride-th of them is kept
    bool last_only = false;
    void add(MetricPoint point);
  };
  [[nodiscard]] bool may_say_something(std::string_view line) const;
  void read(std::string_view text, Time at);
  void take(const MetricLine& line, Time at);
  void feed_piece(std::string_view piece, bool goes_on, Time at);

  std::shared_ptr<MetricPatterns> m_patterns;
  Progress m_progress;
  MetricTable m_table;
  std::vector<Curve> m_curves;
  std::map<std::string, std::size_t, std::less<>> m_index;
  bool m_full = false;
  std::string m_tail;  // of a line that goes on: not read yet
};

// What the program wrote as its metrics, in any of the shapes that pipelines know:
//   {"accuracy": 0.93, "loss": 0.1}                                          plain; members that are no numbers are skipped
//   {"metrics": [{"name": "accuracy", "numberValue": 0.93, "format": "PERCENTAGE"}]}      KFP v1 mlpipeline-metrics
//   {"artifacts": {"metrics": {"artifacts": [{"metadata": {"accuracy": 0.93}}]}}}         KFP v2 executor output
//   {"metadata": {"accuracy": 0.93}}                                         one artifact of it
// NaN and Infinity, as Python's json.dumps writes them, are read. Error (input): no JSON object, or a v1 entry without name or number.
Result<std::vector<Metric>> read_metrics(std::string_view text, std::string_view what);

}  // namespace trainstep::result
