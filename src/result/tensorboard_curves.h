// Builds the curves of a TensorBoard log from its events. Pure.
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

// Accepts the events of a folder of logs; those of one run in the order in which they were written. Limits: 2000 curves; for the first 200 up to 2000
// points, thinned out evenly, for the others only the last point.
//
// Steps increase: a value discards the values of its own and of later steps, as in TensorBoard (a training run resumed from an older checkpoint
// writes them again; tensorboard/data/server/reservoir.rs), and a restart discards those of all tags of its run.
class TensorboardCurves {
 public:
  // Older events were not written by this training and are ignored.
  explicit TensorboardCurves(std::optional<Time> not_before = std::nullopt) : m_not_before(not_before) {}

  // A folder with event files, relative to the root of the logs: "lightning_logs/version_0", "train"; "" is the root itself.
  void add_run(const std::string& run) { m_runs.insert(run); }
  void add(const std::string& run, const TensorboardEvent& event);

  // Named as TensorBoard shows them in the deepest folder that contains all runs: by run and tag ("train/epoch_loss"), or by the tag alone if there
  // is only one run. Runs named after a part of the data – train, validation, … – always keep that name. Unprintable characters are escaped.
  [[nodiscard]] std::vector<MetricSeries> series() const;
  // Whether there were more curves than the limit.
  [[nodiscard]] bool full() const { return m_full; }
  // The number of ignored older values.
  [[nodiscard]] std::uint64_t older() const { return m_older; }

 private:
  struct Curve {
    std::vector<MetricPoint> points;
    std::size_t stride = 1;  // every stride-th value is kept
    std::size_t after = 0;   // values since the last kept one; if not 0, the last point is temporary and only marks the end
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

// Keeps about `most` of the points, evenly spaced, including the first and the last; `most` is at least 2.
void thin_out(std::vector<MetricPoint>& points, std::size_t most);

}  // namespace trainstep::result
