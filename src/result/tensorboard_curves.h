// The curves of a TensorBoard log, from its events. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "result/metrics.h"
#include "result/tensorboard_event.h"

namespace trainstep::result {

// Takes the events of a folder of logs, of each run in the order in which they were written. Bounded: 2000 curves, of the first 200 the points, at
// most 2000 and thinned out evenly, of the others the last one.
//
// Steps only grow: a value takes those of its step and of later ones back, as in TensorBoard (a training that went on from an older checkpoint
// writes them again; tensorboard/data/server/reservoir.rs), and a restart takes those of all tags of its run.
class TensorboardCurves {
 public:
  // What is older was not written by this training: it is not taken.
  explicit TensorboardCurves(std::optional<Time> not_before = std::nullopt) : m_not_before(not_before) {}

  // A folder with event files, relative to that of all logs: "lightning_logs/version_0", "train"; "" is that one itself.
  void add_run(const std::string& run) { m_runs.insert(run); }
  void add(const std::string& run, const TensorboardEvent& event);

  // Named as TensorBoard shows them in the deepest folder that holds all runs: by run and tag ("train/epoch_loss"), or by the tag where there is one
  // run only. That of a part of the data – train, validation, … – always has its name. What of a name cannot be shown is spelled out.
  [[nodiscard]] std::vector<MetricSeries> series() const;
  // There were more curves than are taken.
  [[nodiscard]] bool full() const { return m_full; }
  // Values that were older.
  [[nodiscard]] std::uint64_t older() const { return m_older; }

 private:
  struct Curve {
    std::vector<MetricPoint> points;
    std::size_t stride = 1;  // every stride-th value is kept
    std::size_t after = 0;   // values since the last one that is; then the last point only stands for the end
    bool last_only = false;
    void take_back(double from);
    void add(const MetricPoint& point);
  };
  using Key = std::pair<std::string, std::string>;  // run, tag

  Curve* curve_of(const Key& key, const TensorboardEvent::Value& value);
  [[nodiscard]] std::string prefix_of(std::string_view run) const;

  std::optional<Time> m_not_before;
  std::set<std::string> m_runs;
  std::vector<std::pair<Key, Curve>> m_curves;
  std::map<Key, std::size_t> m_index;
  bool m_full = false;
  std::uint64_t m_older = 0;
};

// Keeps about `most` of the points, evenly, the first and the last among them; `most` is at least 2.
void thin_out(std::vector<MetricPoint>& points, std::size_t most);

}  // namespace trainstep::result
