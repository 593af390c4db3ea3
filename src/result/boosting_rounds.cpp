// SPDX-License-Identifier: Apache-2.0
#include "result/boosting_rounds.h"

#include <string>

#include "base/text.h"
#include "result/metric_text.h"

namespace trainstep::result {
namespace {

constexpr std::size_t max_evaluations = 100;

// "[3]", or "3:" before a tab.
std::optional<double> take_round(std::string_view& text) {
  auto rest = text;
  const bool bracket = rest.starts_with('[');
  if (bracket) rest.remove_prefix(1);
  const auto round = take_count(rest);
  if (!round || !rest.starts_with(bracket ? "]\t" : ":\t")) return std::nullopt;
  text = rest.substr(2);
  return round;
}

std::string_view without_clock(std::string_view text) {
  const bool clock = text.size() > 11 && text[0] == '[' && text[3] == ':' && text[6] == ':' && text[9] == ']';
  return clock ? text.substr(text[10] == ' ' ? 11 : 10) : text;
}

// For "training's auc".
std::string name_of(std::string_view label) {
  std::string name(label);
  if (const auto of = name.find("'s "); of != std::string::npos) name.replace(of, 3, "_");
  return name;
}

bool ends_field(std::string_view rest) { return rest.empty() || rest.front() == '+' || rest.starts_with(" +") || rest.starts_with(" ("); }

}  // namespace

bool may_have_rounds(std::string_view line) { return line.size() > 2 && (line[0] == '[' || is_digit(line[0])) && has(line.substr(0, 30), '\t'); }

bool read_rounds(std::string_view text, MetricLine& line) {
  auto rest = without_clock(text);
  const auto round = take_round(rest);
  if (!round) return false;
  MetricLine found;
  found.step = round;
  while (!rest.empty() && found.metrics.size() < max_evaluations) {
    const auto field = rest.substr(0, rest.find('\t'));
    rest.remove_prefix(std::min(field.size() + 1, rest.size()));
    const auto colon = field.rfind(':');
    if (colon == std::string_view::npos) return false;
    auto name = name_of(field.substr(0, colon));
    auto value = trim(field.substr(colon + 1));
    if (!is_measured_name(name)) return false;
    const auto number = take_number(value);
    if (number && ends_field(value)) found.metrics.push_back({std::move(name), *number, false});
  }
  if (found.metrics.empty()) return false;
  line = std::move(found);
  return true;
}

}  // namespace trainstep::result
