// SPDX-License-Identifier: Apache-2.0
#include "result/metric_boosting.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "result/metric_filter.h"

namespace trainstep::result {
namespace {

constexpr std::size_t longest_name = 100;

// "train-logloss", "valid_0's auc"; empty: no name.
std::string name_of(std::string_view text) {
  std::string name(text);
  if (const auto owner = name.find("'s "); owner != std::string::npos) name.replace(owner, 3, "_");
  const auto odd = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7F || c == ':' || c == '='; };
  const bool letters = std::ranges::any_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
  return name.size() <= longest_name && letters && std::ranges::none_of(name, odd) ? name : std::string();
}

// "name:0.5", "name: 0.5 + 0.01".
bool read_cell(std::string_view cell, MetricLine& line) {
  const auto colon = cell.rfind(':');
  if (colon == std::string_view::npos) return false;
  auto name = name_of(cell.substr(0, colon));
  auto rest = trim(cell.substr(colon + 1));
  const auto value = take_number(rest);
  if (name.empty() || !value) return false;
  rest = trim(rest);
  if (rest.starts_with('+')) {  // the deviation
    rest = trim(rest.substr(1));
    if (!take_number(rest)) return false;
  }
  if (!trim(rest).empty()) return false;
  line.metrics.push_back({std::move(name), *value, false});
  return true;
}

bool read_rounds(std::string_view text, MetricLine& line) {
  const auto cells = split(trim(text), '\t');
  auto number = cells.front().substr(1);
  const auto round = take_number(number);
  if (!round || number != "]" || cells.size() < 2) return false;
  MetricLine found;
  found.step = *round;
  for (std::size_t i = 1; i < cells.size(); ++i)
    if (!read_cell(cells[i], found)) return false;
  line = std::move(found);
  return true;
}

bool read_catboost(std::string_view text, MetricLine& line) {
  const auto cells = split(trim(text), '\t');
  auto number = cells.front();
  const auto round = take_number(number);
  const bool timed = std::ranges::any_of(cells, [](std::string_view cell) { return cell.starts_with("total: "); });
  if (!round || number != ":" || !timed) return false;
  MetricLine found;
  found.step = *round;
  for (const auto cell : cells)
    if (cell.starts_with("learn:") || cell.starts_with("test")) read_cell(cell, found);
  line = std::move(found);
  return true;
}

}  // namespace

bool read_boosting(std::string_view text, MetricLine& line) {
  if (!begins_as_boosting(text)) return false;
  return text.front() == '[' ? read_rounds(text, line) : read_catboost(text, line);
}

bool is_notice(std::string_view text) { return text.starts_with("[LightGBM] ["); }

}  // namespace trainstep::result
