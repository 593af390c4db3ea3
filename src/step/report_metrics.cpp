// The curves and final values of the report.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>
#include <string_view>

#include "step/curves.h"
#include "step/html.h"
#include "step/number_text.h"
#include "step/report_parts.h"
#include "step/results.h"

namespace trainstep::step {
namespace {

constexpr std::size_t max_cards = 24;
constexpr std::size_t max_rows = 200;

// The program's final value takes precedence over the last point of the curve.
std::string final_value(const StepSummary& summary, const result::MetricSeries& series) {
  for (const auto& metric : summary.metrics)
    if (metric.name == series.name) return number_text(metric.value);
  return series.points.empty() ? "" : number_text(series.points.back().value);
}

// Allows a long name to break after its separators.
std::string breakable(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c;
    if (c == '_' || c == '/' || c == '.') result += "<wbr>";
  }
  return result;
}

std::string card(const StepSummary& summary, const CurveGroup& group) {
  std::string values;
  if (group.lines.size() == 1) {
    values = fmt::format("<span class=\"value\">{}</span>", final_value(summary, *group.lines.front().series));
  } else {
    values = "<span class=\"roles\">";
    for (std::size_t i = 0; i < group.lines.size(); ++i)
      values += fmt::format("<span class=\"role-{}\">{} {}</span>", i, escaped(group.lines[i].role), final_value(summary, *group.lines[i].series));
    values += "</span>";
  }
  return fmt::format("<figure><figcaption><span class=\"title\">{}</span>{}</figcaption>{}</figure>\n", breakable(escaped(group.title)), values,
                     draw(group));
}

}  // namespace

std::string metrics_part(const StepSummary& summary) {
  const auto curves = curves_of(summary.outcome);
  const auto groups = group_curves(curves);
  if (groups.empty() && summary.metrics.empty()) return {};
  std::string cards;
  for (std::size_t i = 0; i < groups.size() && i < max_cards; ++i) cards += card(summary, groups[i]);
  std::set<std::string_view> drawn;
  for (const auto& curve : curves) drawn.insert(curve.name);
  std::string rows;
  std::size_t count = 0;
  for (const auto& metric : summary.metrics)
    if ((groups.size() > max_cards || !drawn.contains(metric.name)) && ++count <= max_rows)
      rows += fmt::format("<tr><td>{}</td><td class=\"num\">{}</td></tr>\n", escaped(metric.name), number_text(metric.value));
  std::string part = "<section>\n<h2>Metrics</h2>\n";
  if (!cards.empty()) part += "<div class=\"cards\">\n" + cards + "</div>\n";
  if (count > max_rows) rows += fmt::format("<tr><td class=\"soft\">and {} more</td><td></td></tr>\n", count - max_rows);
  if (!rows.empty()) part += "<table>\n<tr><th>metric</th><th class=\"num\">final value</th></tr>\n" + rows + "</table>\n";
  if (const auto sentence = left_out_metrics(summary)) part += fmt::format("<p class=\"soft\">{}</p>\n", escaped(*sentence));
  return part + "</section>\n";
}

}  // namespace trainstep::step
