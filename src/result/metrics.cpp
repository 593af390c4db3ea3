// SPDX-License-Identifier: Apache-2.0
#include "result/metrics.h"

#include <algorithm>
#include <utility>

#include "base/max_line_length.h"
#include "result/metric_line.h"
#include "result/metric_patterns.h"

namespace trainstep::result {
namespace {

constexpr std::size_t max_names = 2000;
constexpr std::size_t max_curves = 200;  // of further names only the last value
constexpr std::size_t max_points = 2000;
constexpr std::size_t max_tail_length = std::size_t{4} << 10U;
constexpr std::size_t max_pair_length = 200;  // including blanks

using Axis = MetricSeries::Axis;

// The i-th kept point is value 1 + i·stride.
void use_count_axis(MetricSeries& series, std::uint64_t stride) {
  series.axis = Axis::count;
  double x = 1;
  for (auto& point : series.points) point.x = std::exchange(x, x + static_cast<double>(stride));
}

// Keeps every second point, starting with the first.
void thin_out(std::vector<MetricPoint>& points) {
  for (std::size_t i = 1; 2 * i < points.size(); ++i) points[i] = points[2 * i];
  points.resize((points.size() + 1) / 2);
}

}  // namespace

void MetricReader::Curve::add(MetricPoint point) {
  auto& points = series.points;
  if (series.axis == Axis::step && !points.empty() && point.x < points.back().x)
    use_count_axis(series, stride);  // the step numbers restart in each epoch
  if (series.axis == Axis::count) {
    point.x = static_cast<double>(count + 1);
  } else if (!points.empty() && point.x == points.back().x) {
    points.back() = point;  // a later value for the same epoch
    return;
  }
  ++count;
  if (last_only) return points.assign(1, point);
  // Value n is on the grid if n - 1 is a multiple of the stride; the last point may be off the grid, and is then replaced.
  const bool last_is_on_grid = points.empty() || (count - 2) % stride == 0;
  if (!last_is_on_grid) {
    points.back() = point;
    return;
  }
  if (points.size() >= max_points) {
    thin_out(points);
    stride *= 2;
  }
  points.push_back(point);
}

void MetricReader::take(const MetricLine& line, Time at) {
  if (line.progress.epoch) m_progress.epoch = line.progress.epoch;
  if (line.progress.epochs) m_progress.epochs = line.progress.epochs;
  const auto take_value = [&](const Metric& metric, bool known) {
    auto found = m_index.find(metric.name);
    if (found == m_index.end()) {
      if (known) return;
      if (m_curves.size() >= max_names) {
        m_full = true;
        return;
      }
      found = m_index.emplace(metric.name, m_curves.size()).first;
      auto& curve = m_curves.emplace_back();
      curve.last_only = m_curves.size() > max_curves;
      auto& series = curve.series;
      series.name = metric.name;
      series.axis = line.step ? Axis::step : line.epoch || (line.of_epoch && m_progress.epoch) ? Axis::epoch : Axis::count;
    }
    auto& curve = m_curves[found->second];
    curve.rounded = false;
    const auto announced = static_cast<double>(m_progress.epoch.value_or(0));
    const auto last = curve.series.points.empty() ? 0.0 : curve.series.points.back().x;
    const auto x = curve.series.axis == Axis::step ? line.step.value_or(last + 1) : line.epoch.value_or(announced);
    curve.add({x, metric.value, at});
  };
  for (const auto& metric : line.if_new) {
    const auto found = m_index.find(metric.name);
    if (found != m_index.end() && !m_curves[found->second].rounded) continue;
    take_value(metric, false);
    if (const auto made = m_index.find(metric.name); made != m_index.end()) m_curves[made->second].rounded = true;
  }
  for (const auto& metric : line.metrics) take_value(metric, false);
  for (const auto& metric : line.if_known) take_value(metric, true);
}

bool MetricReader::may_say_something(std::string_view line) const { return may_have_metrics(line) || m_table.may_read(line); }

void MetricReader::read(std::string_view text, Time at) {
  const bool says = may_say_something(text);
  if (!says && !m_patterns) return;
  auto line = says ? read_metric_line(text, m_table) : MetricLine();
  if (m_patterns) m_patterns->read(text, line);
  take(line, at);
}

void MetricReader::feed(std::string_view line, Time at) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  const bool goes_on = line.size() > max_line_length;
  if (goes_on || !m_tail.empty()) return feed_piece(line, goes_on, at);
  read(line, at);
}

// No truncated value is read: the end is kept for the next piece, from its last redrawn version on, or from a blank that is far enough from the end.
// A longer word is not read: it is replaced by a placeholder, so that its rest is not taken for a name either.
[[gnu::cold]] void MetricReader::feed_piece(std::string_view piece, bool goes_on, Time at) {
  auto text = std::exchange(m_tail, {}).append(piece);
  if (goes_on) {
    auto from = text.find_last_of('\r', text.find_last_not_of('\r'));
    for (const auto before : {text.size() - max_pair_length, text.size()})
      if (from == std::string::npos || text.size() - from > max_tail_length) from = text.find_last_of(" \t\r", before);
    if (from == std::string::npos) from = 0;
    m_tail = text.size() - from > max_tail_length ? std::string(max_pair_length, 'x') : text.substr(from);
    text.resize(from);
  }
  read(text, at);
}

std::vector<MetricSeries> MetricReader::series() const {
  std::vector<MetricSeries> all;
  all.reserve(m_curves.size());
  for (const auto& curve : m_curves) all.push_back(curve.series);
  return all;
}

std::vector<Metric> MetricReader::latest() const {
  std::vector<Metric> all;
  all.reserve(m_curves.size());
  for (const auto& curve : m_curves) all.push_back({curve.series.name, curve.series.points.back().value, false});
  return all;
}

}  // namespace trainstep::result
