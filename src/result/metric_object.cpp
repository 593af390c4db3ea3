// SPDX-License-Identifier: Apache-2.0
#include "result/metric_object.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "result/excluded_lines.h"
#include "result/metric_position.h"
#include "result/metric_text.h"
#include "result/metric_words.h"
#include "result/named_value.h"

namespace trainstep::result {
namespace {

// The name of a member of an object, its blanks as underscores: "top 5 acc". Empty: none, as of "memory (gib)".
std::string name_of_key(std::string_view key) {
  auto name = plain_name(key);
  std::ranges::replace(name, ' ', '_');
  return is_measured_name(name) ? name : std::string();
}

}  // namespace

bool read_flat_object(std::string_view text, MetricLine& line) {
  auto rest = trim(text);
  if (!rest.starts_with('{') || !rest.ends_with('}')) return false;
  rest = rest.substr(1, rest.size() - 2);
  MetricLine found;
  bool quoted = false;  // whether any value is
  bool metrics = false;
  const auto skip = [&] { rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size())); };
  for (skip(); !rest.empty(); skip()) {
    const char quote = rest.front();
    if (quote != '"' && quote != '\'') return false;
    const auto end = rest.find(quote, 1);
    if (end == std::string_view::npos) return false;
    const auto name = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    skip();
    if (!rest.starts_with(':')) return false;
    rest.remove_prefix(1);
    skip();
    const auto key = name_of_key(name);
    if (const auto nothing = std::string_view(rest.substr(0, 4)); nothing == "null" || nothing == "None") {
      rest.remove_prefix(4);
    } else {
      const auto value = take_member(rest, quoted);
      if (!value) return false;
      if (!key.empty()) add_value(found, key, *value);
    }
    metrics = metrics || metric_kind(key) != MetricKind::none;
    skip();
    if (!rest.empty() && rest.front() != ',') return false;
    if (!rest.empty()) rest.remove_prefix(1);
  }
  if (quoted && !metrics) return false;  // {"version": "1", "port": "8080"}
  line = std::move(found);
  return true;
}

bool read_object_behind(std::string_view text, MetricLine& line) {
  const auto open = text.find('{');
  if (open == 0 || open == std::string_view::npos || has(text.substr(0, open), '=') || has(text.substr(0, open), '(')) return false;
  const auto before = trim(text.substr(0, open));
  const auto words = trim(before.substr(0, before.find_last_not_of(":->| ") + 1));
  const auto word = words.substr(words.find_last_of(" \t]:") + 1);
  if (names_settings(word) || holds_reference(word) || !has(":->|]", before.empty() ? ' ' : before.back())) return false;
  MetricLine found;
  if (!read_flat_object(text.substr(open), found)) return false;
  if (std::ranges::none_of(found.metrics, [](const Metric& metric) { return metric_kind(metric.name) != MetricKind::none; })) return false;
  line = std::move(found);
  if (!line.epoch) read_epoch(before, line, true);
  return true;
}

}  // namespace trainstep::result
