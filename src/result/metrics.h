// Metrics: curves collected from a program's log as it is printed, and the metrics that the program wrote at its end.
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

// A named value. `value` may be NaN or infinite: writers decide how their format represents it.
struct Metric {
  std::string name;
  double value = 0;
  bool percentage = false;  // the program asked for display as a percentage (v1 "format": "PERCENTAGE")
};

// The training's progress, as reported by the program ("epoch=3/10", "Epoch 3/10", "epoch": 3).
struct Progress {
  std::optional<std::int64_t> epoch;
  std::optional<std::int64_t> epochs;
  bool operator==(const Progress&) const = default;
};

struct MetricPoint {
  double x = 0;  // in units of the series' axis
  double value = 0;
  Time time;
};

struct MetricSeries {
  enum class Axis { epoch, step, count };  // given on the same line as the value, or the index of the value, from 1
  std::string name;
  Axis axis = Axis::count;
  std::vector<MetricPoint> points;  // at most 2000, thinned out evenly; the last one is always kept
};

struct MetricLine;
class MetricPatterns;

// Reads a log line by line, in the forms that metric_line.h lists: name=value, Keras' lines, objects, tables, sentences, …
// Ignored: options (--lr=0.1), URLs, paths, `==`, NAME=1 of an environment dump, indented code, numbers followed by other letters, lines of settings
// (a=True, b=None, …).
// The user's own patterns (metric_patterns.h) take precedence for the names that they define.
// Names are [A-Za-z][A-Za-z0-9_.-/]*, also with a threshold (metric_text.h). Limits: 2000 names; a curve for the first 200, for the others the last
// value. A line longer than max_line_length arrives in pieces, each of which is read like a line.
class MetricReader {
 public:
  MetricReader() = default;
  // Null: none are defined. Readers that share the patterns also share what they have found.
  explicit MetricReader(std::shared_ptr<MetricPatterns> patterns) : m_patterns(std::move(patterns)) {}

  // One line, with or without its newline; carriage returns in it separate redrawn versions, of which the last is used.
  void feed(std::string_view line, Time at);

  [[nodiscard]] const Progress& progress() const { return m_progress; }
  // Whether there were more names than the limit.
  [[nodiscard]] bool full() const { return m_full; }
  // Null: none are defined.
  [[nodiscard]] const MetricPatterns* patterns() const { return m_patterns.get(); }
  // In order of first appearance.
  [[nodiscard]] std::vector<MetricSeries> series() const;
  // The last value of each name, in the same order.
  [[nodiscard]] std::vector<Metric> latest() const;

 private:
  struct Curve {
    MetricSeries series;
    std::uint64_t count = 0;   // values seen
    std::uint64_t stride = 1;  // every stride-th value is kept
    bool last_only = false;
    bool rounded = false;  // all values are from MetricLine::if_new
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
  std::string m_tail;  // the unread end of an unfinished line
};

// Reads the metrics that the program wrote, in any of the formats known to pipelines:
//   {"accuracy": 0.93, "loss": 0.1}                                          plain; non-numeric members are skipped
//   {"metrics": [{"name": "accuracy", "numberValue": 0.93, "format": "PERCENTAGE"}]}      KFP v1 mlpipeline-metrics
//   {"artifacts": {"metrics": {"artifacts": [{"metadata": {"accuracy": 0.93}}]}}}         KFP v2 executor output
//   {"metadata": {"accuracy": 0.93}}                                         one artifact of it
// Accepts NaN and Infinity, as written by Python's json.dumps. Error (input): not a JSON object, or a v1 entry without name or number.
Result<std::vector<Metric>> read_metrics(std::string_view text, std::string_view what);

}  // namespace trainstep::result
