// SPDX-License-Identifier: Apache-2.0
#include "result/tensorboard_curves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/printable.h"

namespace trainstep::result {
namespace {

constexpr std::size_t max_tags = 2000;
constexpr std::size_t max_with_points = 200;
constexpr std::size_t max_steps = 2000;
constexpr std::size_t max_tag_length = 200;  // of run and tag together; longer ones are ignored

// Accepts any double; an invalid time becomes 1970.
Time time_of(double seconds) {
  constexpr double most = 1e11;
  if (!(std::abs(seconds) < most)) return {};
  return Time(Duration(static_cast<Duration::rep>(seconds * 1000)));
}

// The parent folder; "": the root folder.
std::string_view parent_of(std::string_view run) {
  const auto slash = run.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : run.substr(0, slash);
}

bool lies_in(std::string_view run, std::string_view folder) {
  return folder.empty() || run == folder || (run.starts_with(folder) && run[folder.size()] == '/');
}

bool is_part_of_the_data(std::string_view run) {
  constexpr std::array<std::string_view, 8> parts{"train", "training", "validation", "valid", "val", "eval", "test", "testing"};
  const auto slash = run.rfind('/');
  return std::ranges::find(parts, slash == std::string_view::npos ? run : run.substr(slash + 1)) != parts.end();
}

}  // namespace

void TensorboardCurves::Curve::take_back(double from) {
  const auto kept = std::ranges::find_if(points, [from](const MetricPoint& point) { return point.x >= from; });
  if (kept == points.end()) return;
  points.erase(kept, points.end());
  after = 0;
}

void TensorboardCurves::Curve::add(const MetricPoint& point) {
  if (last_only) return points.assign(1, point);
  if (!points.empty() && points.back().x >= point.x) take_back(point.x);
  if (after > 0) points.pop_back();
  points.push_back(point);
  if (++after >= stride) after = 0;
  if (points.size() <= max_steps || after > 0) return;
  for (std::size_t i = 1; 2 * i < points.size(); ++i) points[i] = points[2 * i];
  points.resize((points.size() + 1) / 2);
  stride *= 2;
}

// Null: not a scalar, or too many curves.
TensorboardCurves::Curve* TensorboardCurves::curve_of(const Key& key, const TensorboardEvent::Value& value) {
  if (value.tag == "hp_metric" && value.number == -1) return nullptr;  // Lightning's placeholder for a metric of the hyperparameters
  if (const auto known = m_index.find(key); known != m_index.end()) return &m_curves[known->second].second;
  if (value.tensor && value.plugin != "scalars") return nullptr;
  if (key.first.size() + key.second.size() > max_tag_length) return nullptr;
  m_full = m_full || m_curves.size() >= max_tags;
  if (m_curves.size() >= max_tags) return nullptr;
  m_index.emplace(key, m_curves.size());
  auto& curve = m_curves.emplace_back(key, Curve()).second;
  curve.last_only = m_curves.size() > max_with_points;
  return &curve;
}

void TensorboardCurves::add(const std::string& run, const TensorboardEvent& event) {
  add_run(run);
  const auto at = time_of(event.wall_time);
  if (m_not_before && at < *m_not_before) {
    m_older += event.values.size();
    return;
  }
  const auto step = static_cast<double>(event.step);
  if (event.restart)
    for (auto& [key, curve] : m_curves)
      if (key.first == run) curve.take_back(step);
  for (const auto& value : event.values)
    if (auto* curve = curve_of({run, value.tag}, value)) curve->add({step, value.number, at});
}

std::string TensorboardCurves::prefix_of(std::string_view run) const {
  std::string_view root = *m_runs.begin();
  while (std::ranges::any_of(m_runs, [&](const std::string& other) { return !lies_in(other, root); })) root = parent_of(root);
  if (is_part_of_the_data(root)) root = parent_of(root);
  run.remove_prefix(root.size());
  if (run.starts_with('/')) run.remove_prefix(1);
  return run.empty() ? "" : std::string(run) + '/';
}

std::vector<MetricSeries> TensorboardCurves::series() const {
  std::vector<MetricSeries> all;
  std::set<std::string> taken;
  for (const auto& [key, curve] : m_curves) {
    if (curve.points.empty()) continue;
    const auto name = printable(prefix_of(key.first) + key.second);
    auto unique = name;
    for (int number = 2; !taken.insert(unique).second; ++number) unique = name + " (" + std::to_string(number) + ')';
    all.push_back({unique, MetricSeries::Axis::step, curve.points});
  }
  return all;
}

void thin_out(std::vector<MetricPoint>& points, std::size_t most) {
  most = std::max<std::size_t>(most, 2);
  if (points.size() <= most) return;
  const auto last = points.size() - 1;
  for (std::size_t i = 0; i < most; ++i) points[i] = points[i * last / (most - 1)];
  points.resize(most);
}

}  // namespace trainstep::result
