// SPDX-License-Identifier: Apache-2.0
#include "result/coco_summary.h"

#include <algorithm>

#include "base/text.h"
#include "result/metric_line.h"
#include "result/metric_text.h"

namespace trainstep::result {
namespace {

constexpr std::string_view evaluated = "Evaluate annotation type *";  // by pycocotools
constexpr std::string_view printed = "IoU metric: ";                  // by torchvision's references
constexpr std::string_view bracket = ") @[ IoU=";

// Consumes "area=   all | ": up to the separator before the next field, or to the closing bracket.
bool take_field(std::string_view& text, std::string_view& key, std::string_view& value) {
  const auto sign = text.find('=');
  if (sign == std::string_view::npos) return false;
  key = trim(text.substr(0, sign));
  text = text.substr(sign + 1);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  value = text.substr(0, text.find_first_of(" |"));
  text.remove_prefix(value.size());
  text.remove_prefix(std::min(text.find_first_not_of(" |"), text.size()));  // LVIS separates fields by a single blank
  const auto is_value = [](char c) { return belongs_to_name(c) || c == ':'; };
  return is_name(key) && !value.empty() && std::ranges::all_of(value, is_value);
}

// `fields`: the contents of the brackets. Empty: not a row of the summary.
std::string name_of(std::string_view measure, std::string_view fields) {
  std::string name(measure);
  std::string_view key, value;
  while (!fields.empty()) {
    if (!take_field(fields, key, value)) return {};
    if (key == "IoU")
      name.append("@").append(value);
    else
      name.append("_").append(key).append("_").append(value);
  }
  return name.size() <= max_name_length ? name : std::string();
}

std::string_view kind_after(std::string_view text, std::string_view words) {
  const auto at = text.find(words);
  if (at == std::string_view::npos) return {};
  const auto kind = text.substr(at + words.size());
  return kind.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(kind, is_letter) - kind.begin()));
}

}  // namespace

bool CocoSummary::may_read(std::string_view line) {
  return has(line, '@') ? line.find(bracket) != std::string_view::npos
                        : line.starts_with(printed) || (has(line, '*') && line.find(evaluated) != std::string_view::npos);
}

bool CocoSummary::read(std::string_view text, MetricLine& line) {
  if (!may_read(text)) return false;
  const auto at = text.find(bracket);
  if (at == std::string_view::npos) {
    m_kind = kind_after(text, has(text, '*') ? evaluated : printed);
    return true;
  }
  const auto begin = text.rfind('(', at);
  const auto end = text.find(']', at);
  if (begin == std::string_view::npos || end == std::string_view::npos) return false;
  const auto fields = at + bracket.find('I');
  auto name = name_of(text.substr(begin + 1, at - begin - 1), trim(text.substr(fields, end - fields)));
  auto rest = trim(text.substr(end + 1));
  if (name.empty() || !is_letter(name.front()) || !rest.starts_with('=')) return false;
  rest = trim(rest.substr(1));
  const auto value = take_number(rest);
  if (!value || !ends_value(rest)) return false;
  if (!m_kind.empty()) name = m_kind + "_" + name;
  if (*value != -1) line.metrics.push_back({std::move(name), *value, false});
  return true;
}

}  // namespace trainstep::result
