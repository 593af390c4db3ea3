// SPDX-License-Identifier: Apache-2.0
#include "result/delimited_table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "result/excluded_lines.h"
#include "result/metric_line.h"
#include "result/metric_text.h"
#include "result/metric_words.h"
#include "result/named_value.h"
#include "result/table_columns.h"

namespace trainstep::result {
namespace {

constexpr std::string_view evaluation = "Evaluation results for ";  // by detectron2

// Names between commas, with blanks only behind these: "epoch,train_loss", "epoch, train/box_loss". In prose a blank comes first.
bool may_be_names(std::string_view text) {
  char before = ' ';  // the last one but blanks
  bool any = false;
  for (const char c : text) {
    if (c == ' ' ? before != ',' : c != ',' && !belongs_to_name(c) && !has("@:()", c)) return false;
    if (c != ' ') before = c;
    any = any || c == ',';
  }
  return any;
}

std::string_view without_emphasis(std::string_view cell) {
  const auto begin = cell.find_first_not_of("*` ");
  return begin == std::string_view::npos ? std::string_view() : cell.substr(begin, cell.find_last_not_of("*` ") + 1 - begin);
}

// The cells of a row; empty: it is none, or has too many.
std::vector<std::string_view> cells_of(std::string_view text, char& sign) {
  text = trim(text);
  sign = text.starts_with('|') ? '|' : ',';
  if (sign == '|' && (text.size() < 2 || !text.ends_with('|'))) return {};
  if (sign == '|') text = text.substr(1, text.size() - 2);
  std::vector<std::string_view> cells;
  while (cells.size() <= max_columns) {
    const auto end = std::min(text.find(sign), text.size());
    cells.push_back(sign == '|' ? without_emphasis(text.substr(0, end)) : trim(text.substr(0, end)));
    if (end == text.size()) return cells.size() < 2 ? std::vector<std::string_view>() : cells;
    text.remove_prefix(end + 1);
  }
  return {};
}

// AP, AP50, APs (small), ARl@100
bool is_precision(std::string_view label) {
  return (label.starts_with("AP") || label.starts_with("AR")) && label.find_first_not_of("0123456789smlrcf@.:-", 2) == std::string_view::npos;
}

// Ultralytics: "metrics/mAP50(B)" → "metrics/mAP50", of the boxes; "metrics/mAP50(M)" → "metrics/mAP50_M"
std::string plain_label(std::string_view label) {
  const auto open = label.find('(');
  if (open == std::string_view::npos || !label.ends_with(')')) return std::string(label);
  const auto group = label.substr(open + 1, label.size() - open - 2);
  return std::string(label.substr(0, open)) + (group == "B" ? "" : "_" + std::string(group));
}

std::optional<double> number_in(std::string_view cell) {
  const auto number = take_number(cell);
  return cell.empty() ? number : std::nullopt;
}

// "| Parameter | Value |"
bool heads_a_list_of_settings(std::string_view label) {
  const auto word = lower(label);
  return names_settings(word) || names_settings(word + 's') || word.starts_with("parameter");
}

// Words in all cells; not the line below a header.
bool is_header(const std::vector<std::string_view>& cells) {
  return std::ranges::all_of(cells, [](std::string_view cell) { return cell.empty() || is_letter(cell.front()); });
}

std::optional<double> count_in(std::string_view cell) {
  const auto count = take_count(cell);
  return cell.empty() || cell == ".0" ? count : std::nullopt;  // pandas shows a column with gaps as floats
}

}  // namespace

bool DelimitedTable::may_read(std::string_view line) const {
  line = trim(line);
  if (line.empty() || line.size() > max_row_length) return false;
  if (line.front() == '|' || (line.back() == ':' && line.find(evaluation) != std::string_view::npos)) return true;
  if (!m_columns.empty() && m_sign == ',' && (is_digit(line.front()) || line.front() == ',' || line.front() == '-') && has(line, ',')) return true;
  return (is_letter(line.front()) || line.front() == ',') && may_be_names(line);
}

bool DelimitedTable::read(std::string_view text, MetricLine& line) {
  if (!may_read(text)) return false;
  if (const auto at = text.find(evaluation); at != std::string_view::npos) {
    const auto kind = trim(text.substr(at + evaluation.size()));
    m_evaluated = is_name(kind.substr(0, kind.size() - 1)) ? std::string(kind.substr(0, kind.size() - 1)) + '_' : std::string();
    return true;
  }
  char sign = ',';
  const auto cells = cells_of(text, sign);
  if (cells.empty()) return false;
  if (!m_columns.empty() && sign == m_sign && cells.size() == m_columns.size() && read_cells(cells, line)) return true;
  if (read_header(cells) || (sign == '|' && (read_names(cells) || read_precisions(cells)))) {
    m_sign = sign;
    return true;
  }
  if (is_header(cells)) m_columns.clear();  // of another table
  if (sign == '|' && heads_a_list_of_settings(cells.front())) m_columns.resize(cells.size()), m_rows = Rows::settings, m_sign = sign;
  return false;
}

bool DelimitedTable::read_cells(const Cells& cells, MetricLine& line) {
  switch (m_rows) {
    case Rows::epochs:
      return read_row(cells, line);
    case Rows::named:
      return read_named(cells, line);
    case Rows::single:
      return read_single(cells, line);
    case Rows::settings:
      return !is_header(cells);
  }
  return false;
}

bool DelimitedTable::read_header(const Cells& labels) {
  std::vector<std::string> columns;
  std::optional<std::size_t> epoch, step;
  bool any = false;
  for (std::size_t at = 0; at < labels.size(); ++at) {
    auto name = column_name(plain_label(labels[at]));
    if (name.empty() && !labels[at].empty()) return false;
    const auto meaning = meaning_of(name);
    if (meaning == Meaning::epoch && !epoch) epoch = at;
    if (meaning == Meaning::step && !step) step = at;
    if (meaning != Meaning::metric || !names_metric(name)) name.clear();
    any = any || !name.empty();
    columns.push_back(std::move(name));
  }
  if (!any || !(epoch || step)) return false;
  m_columns = std::move(columns);
  m_epoch = epoch;
  m_step = step;
  m_rows = Rows::epochs;
  return true;
}

bool DelimitedTable::read_precisions(const Cells& labels) {
  if (!std::ranges::all_of(labels, is_precision)) return false;
  m_columns.clear();
  for (const auto label : labels) m_columns.push_back(m_evaluated + std::string(label));
  m_rows = Rows::single;
  return true;
}

bool DelimitedTable::read_names(const Cells& labels) {
  constexpr std::array<std::string_view, 4> names{"metric", "metrics", "measure", "score"}, values{"value", "values", "result", "score"};
  if (!one_of(lower(labels.front()), names)) return false;
  std::vector<std::string> columns{""};
  for (const auto label : std::vector(labels.begin() + 1, labels.end())) {
    const bool value = labels.size() == 2 && one_of(lower(label), values);
    if (!value && !names_data(label)) return false;
    columns.push_back(value ? std::string() : lower(label) + '_');
  }
  m_columns = std::move(columns);
  m_rows = Rows::named;
  return true;
}

bool DelimitedTable::read_row(const Cells& cells, MetricLine& line) const {
  MetricLine found;
  if (m_epoch) found.epoch = count_in(cells[*m_epoch]);
  if (m_step) found.step = count_in(cells[*m_step]);
  if (m_epoch ? !found.epoch : !found.step) return false;
  if (found.epoch) found.progress.epoch = whole(*found.epoch);
  for (std::size_t at = 0; at < cells.size(); ++at) {
    const auto number = m_columns[at].empty() ? std::nullopt : number_in(cells[at]);
    const bool gap = m_sign == '|' && number && std::isnan(*number);  // as pandas writes it
    if (number && !gap) found.metrics.push_back({m_columns[at], *number, false});
  }
  line = std::move(found);
  return true;
}

// The line below the header, "|:-----:|", has no numbers.
bool DelimitedTable::read_single(const Cells& cells, MetricLine& line) {
  if (!std::ranges::all_of(cells, [](std::string_view cell) { return number_in(cell).has_value(); })) return false;
  for (std::size_t at = 0; at < cells.size(); ++at)
    if (const auto number = number_in(cells[at]); !std::isnan(*number)) line.metrics.push_back({m_columns[at], *number, false});
  m_columns.clear();
  return true;
}

bool DelimitedTable::read_named(const Cells& cells, MetricLine& line) const {
  const auto name = column_name(cells.front());
  if (!names_metric(name) || meaning_of(name) != Meaning::metric) return false;
  for (std::size_t at = 1; at < cells.size(); ++at)
    if (const auto number = number_in(cells[at])) line.metrics.push_back({m_columns[at] + name, *number, false});
  return true;
}

}  // namespace trainstep::result
