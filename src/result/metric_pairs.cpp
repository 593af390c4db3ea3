// SPDX-License-Identifier: Apache-2.0
#include "result/metric_pairs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/text.h"
#include "result/call_arguments.h"
#include "result/excluded_lines.h"
#include "result/metric_position.h"
#include "result/metric_text.h"
#include "result/metric_words.h"
#include "result/named_value.h"
#include "result/value_brackets.h"

namespace trainstep::result {
namespace {

// A dump of the environment, not a metric: WORLD_SIZE=4 anywhere, RANK=0 alone on its line.
bool is_environment(std::string_view name, double value, bool alone) {
  if (std::ranges::any_of(name, [](char c) { return is_letter(c) && !is_upper(c); })) return false;
  return name.find('_') != std::string_view::npos || (alone && std::trunc(value) == value);
}

// The start of the threshold that ends at `end`, as in "mAP@[0.5:0.95]"; `end` if there is none.
std::size_t threshold_before(std::string_view text, std::size_t end) {
  constexpr std::size_t longest = 40;
  const auto near = text.substr(0, end).substr(end - std::min(end, longest));
  const auto at = has(near, '@') ? near.rfind('@') : std::string_view::npos;
  return at != std::string_view::npos && threshold_size(near.substr(at)) == near.size() - at ? end - (near.size() - at) : end;
}

// "IoU" in "@[ IoU=0.5" is part of another name.
bool is_in_threshold(std::string_view text, std::size_t at) {
  const auto near = text.substr(at - std::min(at, max_name_length), std::min(at, max_name_length));
  const auto open = near.rfind("@[");
  return open != std::string_view::npos && near.substr(open).find(']') == std::string_view::npos;
}

// The name that ends at `end`; empty if it is something else: an option, a path, part of a URL.
std::string_view name_before(std::string_view text, std::size_t end) {
  auto start = threshold_before(text, end);
  while (start > 0 && belongs_to_name(text[start - 1])) --start;
  if (start > 0 && text[start - 1] == ':' && start < end && is_digit(text[end - 1]))  // "mAP_0.5:0.95"
    while (start > 0 && end - start < max_name_length && (belongs_to_name(text[start - 1]) || text[start - 1] == ':')) --start;
  const auto name = text.substr(start, end - start);
  const bool bounded = start == 0 || std::string_view(" \t,;|([{").find(text[start - 1]) != std::string_view::npos;
  return bounded && is_measured_name(name) && !is_in_threshold(text, start) ? name : std::string_view();
}

// Before " = ", the name must not follow another word, unless it names a metric or a step: not "depth" in "max depth = 7"; in "AUC train = 0.9" they
// do together.
bool names_value(std::string_view text, std::string_view name) {
  const auto at = static_cast<std::size_t>(name.data() - text.data());
  if (at < 2 || text[at - 1] != ' ' || !is_letter(text[at - 2]) || metric_kind(name) != MetricKind::none || names_step(name)) return true;
  const auto before = text.substr(0, at - 1);
  return names_data(name) && metric_kind(before.substr(before.find_last_of(" \t|") + 1)) != MetricKind::none;
}

// "acc=9825/10000", not "shard=3/8"
bool is_share(std::string_view name, double value, double of) {
  return tells_result(name) && of > 0 && value >= 0 && value <= of && std::trunc(value) == value && std::trunc(of) == of;
}

// Whether the name, as an argument, is a setting: true in "Dropout(p=0.25)", false in "EvalResult(loss=0.3)".
bool is_argument_only(std::string_view name) { return meaning_of(name) == Meaning::metric && !tells_result(name); }

// What a line of name=value is read with.
struct Pairs {
  explicit Pairs(std::string_view text) : arguments(text), brackets(text) {}
  CallArguments arguments;
  ValueBrackets brackets;
  MetricLine aside;  // the epoch and step in brackets after a value, which count if the line names no others
};

// Whether a bracket after a value hides the pair from the line: "acc=0.9 (n=100)".
bool is_remark(std::string_view text, std::string_view name, ValueBrackets& brackets) {
  const auto begin = static_cast<std::size_t>(name.data() - text.data());
  const auto reads = brackets.at(begin);
  if (reads == ValueBrackets::Reads::all || metric_kind(name) < MetricKind::usual) return reads != ValueBrackets::Reads::all;
  const auto from = std::max(brackets.open(), begin - std::min(begin, max_name_length));
  return reads == ValueBrackets::Reads::best && !holds_reference(text.substr(from, begin + name.size() - from));
}

// "seconds per epoch=12.3"
bool is_rate(std::string_view text, std::string_view name) {
  return text.substr(0, static_cast<std::size_t>(name.data() - text.data())).ends_with("per ");
}

// Reads the pair around the equals sign at `at`. Returns where to continue the search.
std::size_t read_pair(std::string_view text, std::size_t at, Pairs& pairs, MetricLine& line) {
  if (at + 1 < text.size() && text[at + 1] == '=') return at + 2;
  const bool before = at > 0 && text[at - 1] == ' ', behind = at + 1 < text.size() && text[at + 1] == ' ';
  const bool spaced = before && behind;
  if ((before || behind) && (text.front() == ' ' || text.front() == '\t')) return at + 1;  // indented: code in a traceback
  const auto name = name_before(text, before ? at - 1 : at);
  if (name.empty() || (spaced && !names_value(text, name)) || (before != behind && !tells_result(name))) return at + 1;  // "loss= 0.7"
  auto rest = text.substr(at + (behind ? 2 : 1));
  bool quoted = false;
  auto value = take_member(rest, quoted);
  if (value) skip_to_latest(rest, *value);
  if (!value || (quoted && !tells_result(name) && meaning_of(name) != Meaning::epoch)) return at + 1;
  std::optional<double> of;
  if (rest.starts_with('/') && rest.size() > 1 && is_digit(rest[1])) {
    rest.remove_prefix(1);
    of = take_number(rest);
  }
  if (!ends_value(rest)) return at + 1;
  if (of && is_share(name, *value, *of)) {
    value = *value / *of;
    of.reset();
  }
  const bool alone = name.data() == text.data() && rest.empty();
  const auto found = line.metrics.size();
  const bool argument = pairs.arguments.hold(at) && is_argument_only(name);
  const bool remark = is_remark(text, name, pairs.brackets);
  if (!is_environment(name, *value, alone) && !argument && !is_rate(text, name)) add_value(remark ? pairs.aside : line, plain_name(name), *value, of);
  const auto end = text.size() - rest.size();
  if (line.metrics.size() > found) line.pairs.push_back({static_cast<std::size_t>(name.data() - text.data()), end});
  return end;
}

constexpr int min_settings = 2;

// Two such values make the line a dump of settings: "amp=True, batch=4, cache=False, …".
bool is_setting(std::string_view value) { return value.starts_with("True") || value.starts_with("False") || value.starts_with("None"); }

// One line of a dump that spans several: "adam_beta1=0.9,".
bool is_argument(std::string_view text, const MetricLine& line) {
  text = trim(text);
  return line.metrics.size() == 1 && text.ends_with(',') && text.starts_with(line.metrics.front().name) && text.find(' ') == std::string_view::npos &&
         text.find(',') == text.size() - 1;
}

}  // namespace

bool read_pairs(std::string_view text, MetricLine& line) {
  if (is_indented_code(text) || heads_settings(text)) return false;
  const auto before = line.metrics.size();
  Pairs pairs(text);
  int settings = 0;
  for (auto at = text.find('='); at != std::string_view::npos; at = text.find('=', at)) {
    if (is_setting(text.substr(at + 1))) ++settings;
    at = read_pair(text, at, pairs, line);
  }
  if (settings >= min_settings || is_argument(text, line)) return line = {}, false;
  if (!line.step) line.step = pairs.aside.step;
  if (!line.epoch && pairs.aside.epoch) read_epoch(text, line, true);
  return line.metrics.size() > before || line.epoch || line.step;
}

}  // namespace trainstep::result
