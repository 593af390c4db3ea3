// SPDX-License-Identifier: Apache-2.0
#include "step/kfp_v1.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "step/number_text.h"

namespace trainstep::step {
namespace {

constexpr std::size_t max_metrics = 50;
constexpr std::size_t max_name_length = 64;

bool is_alphanumeric(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

// RFC 4180.
std::string csv_cell(std::string_view text) {
  std::string cell = "\"";
  for (const auto c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + "\"";
}

}  // namespace

std::string v1_metric_name(std::string_view name) {
  std::string result;
  for (const auto c : name.substr(0, max_name_length)) result += is_alphanumeric(c) || c == '_' || c == '-' ? c : '-';
  if (result.empty() || !is_letter(result.front())) result = ("m" + result).substr(0, max_name_length);
  while (!is_alphanumeric(result.back())) result.pop_back();
  return result;
}

Json v1_metrics(const std::vector<result::Metric>& metrics) {
  std::vector<const result::Metric*> shown;
  for (const auto& metric : metrics)
    if (std::isfinite(metric.value) && shown.size() < max_metrics) shown.push_back(&metric);
  std::set<std::string> taken;  // first those that need no other name: of "Acc@1" and "Acc-1" the second is Acc-1
  for (const auto* metric : shown)
    if (v1_metric_name(metric->name) == metric->name) taken.insert(metric->name);
  auto list = Json::array();
  for (const auto* each : shown) {
    const auto& metric = *each;
    const auto base = v1_metric_name(metric.name);
    auto name = base;
    for (int number = 2; base != metric.name && !taken.insert(name).second; ++number) {
      const auto suffix = fmt::format("-{}", number);
      name = base.substr(0, max_name_length - suffix.size()) + suffix;
    }
    list.push_back({{"name", name}, {"numberValue", metric.value}, {"format", metric.percentage ? "PERCENTAGE" : "RAW"}});
  }
  return {{"metrics", std::move(list)}};
}

Json v1_ui_metadata(const Json& own, const std::vector<result::Metric>& metrics, std::string_view report) {
  auto outputs = own.is_array() ? own : Json::array();
  if (!metrics.empty()) {
    std::string rows;
    for (const auto& metric : metrics) rows += fmt::format("{},{}\n", csv_cell(metric.name), number_text(metric.value));
    outputs.push_back({{"type", "table"}, {"storage", "inline"}, {"format", "csv"}, {"header", {"metric", "value"}}, {"source", rows}});
  }
  outputs.push_back({{"type", "web-app"}, {"storage", "inline"}, {"source", std::string(report)}});
  return {{"version", 1}, {"outputs", std::move(outputs)}};
}

}  // namespace trainstep::step
