// SPDX-License-Identifier: Apache-2.0
#include "step/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "step/html.h"
#include "step/number_text.h"

namespace trainstep::step {
namespace {

// Coordinates within the picture, which is scaled to the width of its card.
constexpr double width = 320, height = 132, left = 46, right = 312, top = 8, bottom = 108;
constexpr std::size_t max_points = 160;

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  [[nodiscard]] double size() const { return most - least; }
};

std::pair<std::string, std::string> role_and_base(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> prefixes{{{"train", "training"},
                                                                                   {"training", "training"},
                                                                                   {"val", "validation"},
                                                                                   {"valid", "validation"},
                                                                                   {"validation", "validation"},
                                                                                   {"eval", "validation"},
                                                                                   {"test", "test"}}};
  const auto end = name.find_first_of("_/.-:");
  if (end == std::string::npos || end + 1 >= name.size()) return {"", name};
  const auto prefix = std::string_view(name).substr(0, end);
  for (const auto& [known, role] : prefixes)
    if (prefix == known) return {std::string(role), name.substr(end + 1)};
  return {"", name};
}

// 1, 2 or 5 times a power of ten: the smallest step that needs at most five grid lines.
double grid_step(double size) {
  const auto power = std::pow(10.0, std::floor(std::log10(size / 4)));
  for (const auto factor : {1.0, 2.0, 5.0, 10.0})
    if (size / (factor * power) <= 4) return factor * power;
  return size;
}

using Points = std::vector<std::pair<double, double>>;

// The smallest and the largest point of each of a few dozen slices, in their order.
Points thinned(const Points& points) {
  if (points.size() <= max_points) return points;
  const auto slices = max_points / 2;
  Points result;
  for (std::size_t slice = 0; slice < slices; ++slice) {
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(slice * points.size() / slices);
    const auto end = points.begin() + static_cast<std::ptrdiff_t>((slice + 1) * points.size() / slices);
    auto [least, most] = std::minmax_element(begin, end, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most < least) std::swap(least, most);
    result.push_back(*least);
    if (most != least) result.push_back(*most);
  }
  if (result.back() != points.back()) result.push_back(points.back());
  return result;
}

// Runs of finite points.
std::vector<Points> pieces(const result::MetricSeries& series) {
  std::vector<Points> result(1);
  for (const auto& point : series.points) {
    if (std::isfinite(point.value) && std::isfinite(point.x))
      result.back().emplace_back(point.x, point.value);
    else if (!result.back().empty())
      result.emplace_back();
  }
  if (result.back().empty()) result.pop_back();
  return result;
}

class Picture {
 public:
  Picture(Range x, Range y) : m_x(x), m_y(y) {
    if (m_y.size() > 0) return;
    const auto margin = m_y.most == 0 ? 1 : std::abs(m_y.most) / 2;
    m_y = {m_y.least - margin, m_y.most + margin};
  }

  void grid() {
    const auto step = grid_step(m_y.size());
    if (!(step > 0)) return;
    const auto first = std::ceil(m_y.least / step) * step;
    for (int i = 0; i < 6; ++i) {
      const auto value = first + i * step;
      if (value > m_y.most + step * 1e-9) return;
      const auto shown = std::abs(value) < step / 2 ? 0.0 : value;
      m_svg += fmt::format(R"(<path class="grid" d="M{:.0f} {:.1f}H{:.0f}"/><text x="{:.0f}" y="{:.1f}" class="tick end">{}</text>)", left, y(value),
                           right, left - 6, y(value) + 3.5, number_text(shown));
    }
  }

  void axis(std::string_view name) {
    m_svg += fmt::format(R"(<text x="{:.0f}" y="{:.0f}" class="tick">{} {}</text>)", left, height - 6, name, number_text(m_x.least));
    m_svg += fmt::format(R"(<text x="{:.0f}" y="{:.0f}" class="tick end">{}</text>)", right, height - 6, number_text(m_x.most));
  }

  void line(const std::vector<Points>& runs, std::size_t number) {
    std::string path;
    for (const auto& run : runs) {
      auto command = 'M';
      for (const auto& [at, value] : thinned(run)) {
        path += fmt::format("{}{:.1f} {:.1f}", command, x(at), y(value));
        command = 'L';
      }
      if (run.size() == 1) path += "h.01";  // a dot: the line's round end
    }
    const auto& [at, value] = runs.back().back();
    m_svg += fmt::format(R"(<path class="curve line-{0}" d="{1}"/><circle class="dot line-{0}" cx="{2:.1f}" cy="{3:.1f}" r="2.6"/>)", number, path,
                         x(at), y(value));
  }

  std::string finish(std::string_view label) && {
    return fmt::format(R"(<svg viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}</svg>)", width, height, escaped(label), m_svg);
  }

 private:
  [[nodiscard]] double x(double value) const { return left + (right - left) * (value - m_x.least) / m_x.size(); }
  [[nodiscard]] double y(double value) const { return bottom - (bottom - top) * (value - m_y.least) / m_y.size(); }

  Range m_x, m_y;
  std::string m_svg;
};

std::string_view axis_name(result::MetricSeries::Axis axis) {
  switch (axis) {
    case result::MetricSeries::Axis::epoch:
      return "epoch";
    case result::MetricSeries::Axis::step:
      return "step";
    case result::MetricSeries::Axis::count:
      break;
  }
  return "value";
}

}  // namespace

std::vector<CurveGroup> group_curves(const std::vector<result::MetricSeries>& series) {
  std::vector<CurveGroup> groups;
  for (const auto& one : series) {
    auto [role, base] = role_and_base(one.name);
    const auto same = [&, &title = base](const CurveGroup& group) { return group.title == title && group.lines.front().series->axis == one.axis; };
    auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) group = groups.insert(groups.end(), CurveGroup{.title = base, .lines = {}});
    group->lines.push_back({.role = std::move(role), .series = &one});
  }
  for (auto& group : groups) {
    if (group.lines.size() == 1) {
      group.title = group.lines.front().series->name;
      group.lines.front().role.clear();
      continue;
    }
    const auto has_training = std::any_of(group.lines.begin(), group.lines.end(), [](const auto& line) { return line.role == "training"; });
    for (auto& line : group.lines)
      if (line.role.empty()) line.role = has_training ? line.series->name : "training";
  }
  return groups;
}

std::string draw(const CurveGroup& group) {
  Range x, y;
  std::vector<std::vector<Points>> lines;
  for (const auto& line : group.lines) {
    lines.push_back(pieces(*line.series));
    for (const auto& piece : lines.back())
      for (const auto& [at, value] : piece) x.add(at), y.add(value);
  }
  constexpr double too_far = 1e300;
  if (!(x.size() > 0) || !(x.size() < too_far) || !(y.size() < too_far) || !(std::abs(y.most) < too_far)) return {};
  Picture picture(x, y);
  picture.grid();
  picture.axis(axis_name(group.lines.front().series->axis));
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!lines[i].empty()) picture.line(lines[i], i);
  return std::move(picture).finish(group.title);
}

}  // namespace trainstep::step
