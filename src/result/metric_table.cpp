// SPDX-License-Identifier: Apache-2.0
#include "result/metric_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "result/metric_line.h"
#include "result/metric_words.h"

namespace trainstep::result {
namespace {

constexpr int patience = 30;
constexpr double most = 1e15;
constexpr std::size_t most_columns = 40;
constexpr std::string_view drawn = "│┃|";  // their bytes, which no number has

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::vector<std::string_view> cells_of(std::string_view text) {
  std::vector<std::string_view> cells;
  while (cells.size() <= most_columns) {
    text = trim(text);
    if (text.empty()) return cells;
    const auto end = std::min(text.find_first_of(" \t"), text.size());
    cells.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return {};
}

// Columns are two blanks apart: their names may have one inside ("Train Loss").
std::vector<std::string_view> columns_of(std::string_view text) {
  std::vector<std::string_view> columns;
  while (columns.size() <= most_columns) {
    text = trim(text);
    if (text.empty()) return columns;
    const auto end = std::min({text.find("  "), text.find('\t'), text.size()});
    columns.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return {};
}

std::string joined(std::string_view words) {
  std::string name;
  for (const auto word : cells_of(words)) name += (name.empty() ? "" : "_") + plain_name(word);
  return name;
}

bool names_metric(std::string_view column) {
  return std::ranges::any_of(cells_of(column), [](std::string_view word) {
    const auto kind = kind_of(word);
    return kind == Word::metric || kind == Word::weak;
  });
}

// "Box(P", "R", "mAP50", "mAP50-95)" of Ultralytics; those of a second group ("Mask(P") bear its name.
std::vector<std::string> class_columns(const std::vector<std::string_view>& cells) {
  std::vector<std::string> columns;
  std::string group;
  for (auto cell : cells) {
    const auto bracket = cell.find('(');
    if (bracket != std::string_view::npos) {
      group = cell.substr(0, bracket) == "Box" ? "" : lower(cell.substr(0, bracket)) + "_";
      cell.remove_prefix(bracket + 1);
    }
    while (cell.ends_with(')') || cell.ends_with(':')) cell.remove_suffix(1);
    const bool metric = cell == "P" || cell == "R" || cell.starts_with("mAP") || cell.starts_with("top");
    columns.push_back(metric ? group + (cell == "P" ? "precision" : cell == "R" ? "recall" : std::string(cell)) : "");
  }
  return columns;
}

std::optional<double> number_in(std::string_view cell) {
  const auto value = take_number(cell);
  return cell.empty() ? value : std::nullopt;
}

std::string without_drawing(std::string_view text) {
  std::string clean;
  for (const char c : text) clean += drawn.find(c) == std::string_view::npos ? c : ' ';
  return clean;
}

bool is_rule(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80 || c == '-' || c == ' '; });
}

}  // namespace

bool MetricTable::open_with(std::string_view text) {
  const auto plain = trim(text);
  if (plain.starts_with("***** ") && plain.ends_with(" metrics *****")) {
    m_kind = Kind::pairs;
    return true;
  }
  if (plain.find("DataLoader 0") != std::string_view::npos && plain.find("etric") != std::string_view::npos) {
    m_kind = Kind::values;
    return true;
  }
  const auto first = kind_of(plain.substr(0, plain.find_first_of(" \t")));
  if (first != Word::epoch && first != Word::step && !plain.starts_with("Class")) return false;
  const auto columns = columns_of(plain);
  if (columns.size() < 3) return false;
  if (columns.front() == "Class" && plain.find("Box(P") != std::string_view::npos) {
    auto cells = cells_of(plain.substr(0, plain.find("):") == std::string_view::npos ? plain.size() : plain.rfind("):") + 1));
    m_columns = class_columns(cells);
    m_kind = Kind::classes;
    return true;
  }
  const bool numbers =
      plain.find(':') != std::string_view::npos || std::ranges::any_of(cells_of(plain), [](auto cell) { return number_in(cell).has_value(); });
  if (numbers || !std::ranges::any_of(columns, names_metric)) return false;
  m_columns.clear();
  for (const auto column : columns) m_columns.push_back(joined(column));
  m_kind = Kind::rows;
  return true;
}

bool MetricTable::read_row(std::string_view text, MetricLine& line) const {
  const auto cells = cells_of(text);
  if (cells.size() < m_columns.size()) return false;
  auto first = cells.front();
  const auto at = take_number(first);
  if (!at || std::trunc(*at) != *at || std::abs(*at) > most) return false;
  std::optional<double> of;
  if (first.starts_with('/')) {
    first.remove_prefix(1);
    of = take_number(first);
  }
  if (!first.empty()) return false;
  MetricLine found;
  for (std::size_t i = 1; i < m_columns.size(); ++i) {
    const auto value = number_in(cells[i]);
    const bool fraction = cells[i].find_first_of(".en") != std::string_view::npos;
    if (value && (fraction || names_metric(m_columns[i]))) found.metrics.push_back({m_columns[i], *value, false});
  }
  if (found.metrics.empty()) return false;
  if (kind_of(m_columns.front()) == Word::step) {
    found.step = *at;
  } else {
    found.epoch = *at;
    found.progress.epoch = static_cast<std::int64_t>(*at);
    if (of && std::abs(*of) <= most) found.progress.epochs = static_cast<std::int64_t>(*of);
  }
  line = std::move(found);
  return true;
}

bool MetricTable::read_class(std::string_view text, MetricLine& line) const {
  const auto cells = cells_of(text);
  if (cells.size() != m_columns.size() || cells.front() != "all") return false;
  for (std::size_t i = 1; i < cells.size(); ++i)
    if (const auto value = number_in(cells[i]); value && !m_columns[i].empty()) line.metrics.push_back({m_columns[i], *value, false});
  line.of_epoch = true;
  return true;
}

bool MetricTable::read_value(std::string_view text, MetricLine& line) {
  const auto clean = without_drawing(text);
  const auto cells = cells_of(clean);
  if (cells.size() < 2) return is_rule(text);
  const auto value = number_in(cells[1]);
  if (!value || is_digit(cells[0].front()) || is_rule(cells[0])) return false;
  line.metrics.push_back({std::string(cells[0]), *value, false});
  line.of_epoch = true;
  return true;
}

bool MetricTable::read_pair(std::string_view text, MetricLine& line) {
  const auto cells = cells_of(text);
  if (cells.size() != 3 || cells[1] != "=" || !text.starts_with(' ')) return false;
  const auto value = number_in(cells[2]);
  if (value && cells[0] != "epoch") line.metrics.push_back({std::string(cells[0]), *value, false});
  line.of_epoch = !line.metrics.empty();
  return true;
}

bool MetricTable::read(std::string_view text, MetricLine& line) {
  if (open_with(text)) {
    m_patience = patience;
    return true;
  }
  bool row = false;
  switch (m_kind) {
    case Kind::rows:
      row = read_row(text, line);
      break;
    case Kind::classes:
      row = read_class(text, line);
      break;
    case Kind::values:
      row = read_value(text, line);
      break;
    case Kind::pairs:
      row = read_pair(text, line);
      break;
    case Kind::none:
      return false;
  }
  const bool ends_at_once = m_kind == Kind::values || m_kind == Kind::pairs;
  if (row)
    m_patience = patience;
  else if (ends_at_once || --m_patience <= 0)
    m_kind = Kind::none;
  return row;
}

}  // namespace trainstep::result
