// SPDX-License-Identifier: Apache-2.0
#include "result/metric_table.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "result/metric_line.h"
#include "result/metric_text.h"
#include "result/metric_words.h"
#include "result/table_columns.h"

namespace trainstep::result {
namespace {

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const auto word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

// Columns are separated by two blanks; a name may contain single ones: "Train Loss". A name with a threshold ends at the first blank: "mAP@.5
// mAP@.5:.95" are two columns.
std::vector<std::string_view> columns_of(std::string_view text) {
  std::vector<std::string_view> columns;
  for (text = trim(text); !text.empty() && columns.size() <= max_columns; text = trim(text)) {
    auto end = std::min({text.find("  "), text.find('\t'), text.size()});
    if (const auto blank = text.find(' '); blank < end && has(text.substr(0, blank), '@')) end = blank;
    columns.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return columns;
}

// "| name | value |". Leading blanks of the name are kept: its indentation shows whether it is a group or a metric.
struct BoxRow {
  std::string_view name, value;
};
std::optional<BoxRow> box_row(std::string_view text) {
  text = trim(text);
  if (text.size() < 3 || !text.starts_with('|') || !text.ends_with('|')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  const auto wall = text.find('|');
  if (wall == std::string_view::npos || text.find('|', wall + 1) != std::string_view::npos) return std::nullopt;
  return BoxRow{text.substr(0, wall), trim(text.substr(wall + 1))};
}

enum class First { none, epoch, step, classes };

First first_column(std::string_view name) {
  if (name == "epoch" || name == "Epoch" || name == "E") return First::epoch;
  if (name == "Class" || name == "classes") return First::classes;
  return names_step(name) ? First::step : First::none;
}

// Of the columns from "Mask(P" to "mAP50-95)" the group is Mask. That of the boxes is not part of a name, as a detector's table has no other.
std::string_view take_group(std::string_view& label, std::string_view group) {
  const auto open = label.find('(');
  if (open == std::string_view::npos || open + 1 == label.size()) return group;
  group = label.substr(0, open);
  if (!is_name(group)) return {};
  label.remove_prefix(open + 1);
  return group;
}

bool is_metric(std::string_view name, bool of_classes) { return (of_classes && (name == "P" || name == "R")) || names_metric(name); }

// All other columns are losses and scores: ENTS_F, DEP_UAS.
bool is_spacys(const std::vector<std::string_view>& labels) { return labels[0] == "E" && labels[1] == "#"; }

// Strips what a progress bar has drawn after the last column: "mAP50-95): 100% ━━━ 2/2", "64: 100%".
std::string_view without_bar(std::string_view text) {
  const auto bar = text.find(": ");
  return bar == std::string_view::npos ? text : text.substr(0, bar);
}

}  // namespace

bool MetricTable::may_read(std::string_view line) const {
  if (line.starts_with('\r') || line.starts_with('\x1B')) return true;  // redrawn: its last state has not been extracted yet
  const auto first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return false;
  const auto rest = line.substr(first);
  if (m_in_box || rest.front() == '|' || CocoSummary::may_read(line) || WandbSummary::may_read(line) || m_delimited.may_read(rest)) return true;
  if (!m_columns.empty() && (is_digit(rest.front()) || (m_of_classes && rest.starts_with("all ")))) return true;
  if (!has("eEIiCc", rest.front())) return false;
  constexpr std::array<std::string_view, 7> headers{"epoch ", "Epoch ", "Iter ", "iter ", "E ", "Class ", "classes "};
  return std::ranges::any_of(headers, [&](std::string_view header) { return rest.starts_with(header); }) && rest.find("  ") != std::string_view::npos;
}

bool MetricTable::read(std::string_view text, MetricLine& line) {
  return text.size() <= max_row_length && may_read(text) &&
         (m_coco.read(text, line) || m_wandb.read(text, line) || read_box(text, line) || m_delimited.read(text, line) || read_row(text, line) ||
          read_header(text));
}

bool MetricTable::read_box(std::string_view text, MetricLine& line) {
  const auto row = box_row(text);
  const auto name = row ? trim(row->name) : std::string_view();
  if (!row || name.empty()) {
    m_in_box = false;
    return false;
  }
  if (row->value.empty() && name.ends_with('/')) return m_in_box = true;
  auto rest = row->value;
  const auto number = take_number(rest);
  if (!m_in_box || !row->name.starts_with("  ") || !number || !rest.empty() || !is_name(name) || !is_metric(name, false)) return false;
  line.metrics.push_back({std::string(name), *number, false});
  return true;
}

bool MetricTable::read_header(std::string_view text) {
  const auto labels = columns_of(without_bar(text));
  if (labels.size() < 3 || labels.size() > max_columns) return false;
  const auto first = first_column(labels.front());
  if (first == First::none) return false;
  const bool scores = is_spacys(labels);
  std::vector<std::string> columns;
  bool any = false;
  std::string_view group;
  for (auto label : labels) {
    if (!label.empty() && is_digit(label.front())) return false;
    if (first == First::classes) group = take_group(label, group);
    auto name = column_name(label);
    if (scores ? columns.empty() || label == "SPEED" : !is_metric(name, first == First::classes)) name.clear();
    if (!name.empty() && !group.empty() && group != "Box") name.insert(0, "_").insert(0, group);
    if (label.ends_with(')')) group = {};
    any = any || !name.empty();
    columns.push_back(std::move(name));
  }
  if (!any) return false;
  m_columns = std::move(columns);
  m_of_steps = first == First::step;
  m_of_classes = first == First::classes;
  const auto mark = std::ranges::find(labels, "cp");
  m_mark_column = mark == labels.end() ? std::nullopt : std::optional(static_cast<std::size_t>(mark - labels.begin()));
  m_step_column = scores ? std::optional<std::size_t>(1) : std::nullopt;
  return true;
}

bool MetricTable::read_row(std::string_view text, MetricLine& line) const {
  if (m_columns.empty()) return false;
  auto rest = without_bar(text);
  MetricLine found;
  auto first = take_word(rest);
  if (const auto count = take_count(first); count && !m_of_classes) {
    if (!m_of_steps) found.progress.epoch = static_cast<std::int64_t>(*count);
    (m_of_steps ? found.step : found.epoch) = count;
    if (first.starts_with('/') && !m_of_steps) {
      first.remove_prefix(1);
      if (const auto of = take_count(first)) found.progress.epochs = static_cast<std::int64_t>(*of);
    }
  } else if (!m_of_classes || first != "all") {
    return false;
  } else {
    first = {};
  }
  if (!first.empty()) return false;
  std::size_t words = 1;
  for (auto behind = rest; !take_word(behind).empty();) ++words;
  for (std::size_t at = 1; at < m_columns.size(); ++at) {
    if (at == m_mark_column && words + 1 == m_columns.size()) continue;
    auto word = take_word(rest);
    if (word.empty()) return false;
    const auto number = take_number(word);
    if (!number || !word.empty()) continue;
    if (at == m_step_column) found.step = number;
    if (!m_columns[at].empty()) found.metrics.push_back({m_columns[at], *number, false});
  }
  if (!take_word(rest).empty() || found.metrics.empty()) return false;
  line = std::move(found);
  return true;
}

}  // namespace trainstep::result
