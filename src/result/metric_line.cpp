// SPDX-License-Identifier: Apache-2.0
#include "result/metric_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "base/text.h"
#include "result/rank_prefix.h"

namespace trainstep::result {
namespace {

constexpr std::size_t longest_name = 100;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return is_upper(c) || (c >= 'a' && c <= 'z'); }
bool belongs_to_name(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '-' || c == '/'; }

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_name && is_letter(name.front()) && std::ranges::all_of(name, belongs_to_name);
}

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

std::optional<std::int64_t> whole(double value) {
  if (!std::isfinite(value) || std::abs(value) > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// `word` is in lower case. Without a copy: this runs for each equals sign of a log.
bool starts_ignoring_case(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(), [](char w, char c) { return w == (is_upper(c) ? c - 'A' + 'a' : c); });
}

bool has(std::string_view text, char c) { return !text.empty() && std::memchr(text.data(), c, text.size()) != nullptr; }

bool names_epoch(std::string_view text) { return text.find("poch") != std::string_view::npos || text.find("POCH") != std::string_view::npos; }

// Sorts a value into its place.
void add(MetricLine& line, std::string_view name, double value, std::optional<double> of = {}) {
  constexpr std::array<std::string_view, 6> steps{"step", "steps", "iter", "iteration", "batch", "global_step"};
  constexpr std::array<std::string_view, 5> totals{"epochs", "num_epochs", "n_epochs", "max_epochs", "total_epochs"};
  const auto plain = lower(name);
  if (plain == "epoch") {
    line.epoch = value;
    line.progress.epoch = whole(value);
    if (of) line.progress.epochs = whole(*of);
  } else if (one_of<6>(plain, steps)) {
    line.step = value;
  } else if (one_of<5>(plain, totals)) {
    line.progress.epochs = whole(value);
  } else if (!of) {
    line.metrics.push_back({std::string(name), value, false});
  }
}

// A dump of the environment, not a metric: WORLD_SIZE=4 anywhere, RANK=0 alone on its line.
bool is_environment(std::string_view name, double value, bool alone) {
  if (std::ranges::any_of(name, [](char c) { return is_letter(c) && !is_upper(c); })) return false;
  return name.find('_') != std::string_view::npos || (alone && std::trunc(value) == value);
}

bool ends_value(std::string_view rest) {
  if (rest.starts_with('%')) rest.remove_prefix(1);
  if (rest.starts_with('.')) rest.remove_prefix(1);                                 // the end of a sentence
  if (rest.starts_with(',') && rest.size() > 1 && is_digit(rest[1])) return false;  // 1,234.5: not the number 1
  return rest.empty() || std::string_view(" \t,;|)]}").find(rest.front()) != std::string_view::npos;
}

// The name that ends at `end`; empty if what stands there is something else: an option, a path, part of a URL.
std::string_view name_before(std::string_view text, std::size_t end) {
  auto start = end;
  while (start > 0 && belongs_to_name(text[start - 1])) --start;
  const auto name = text.substr(start, end - start);
  const bool bounded = start == 0 || std::string_view(" \t,;|([{").find(text[start - 1]) != std::string_view::npos;
  return bounded && is_name(name) ? name : std::string_view();
}

// The pair around the equals sign at `at`. Returns where to look for the next one.
std::size_t read_pair(std::string_view text, std::size_t at, MetricLine& line) {
  if (at + 1 < text.size() && text[at + 1] == '=') return at + 2;
  const bool spaced = at > 0 && text[at - 1] == ' ' && at + 1 < text.size() && text[at + 1] == ' ';
  if (spaced && (text.front() == ' ' || text.front() == '\t')) return at + 1;  // indented: code, in a traceback
  const auto name = name_before(text, spaced ? at - 1 : at);
  if (name.empty()) return at + 1;
  auto rest = text.substr(at + (spaced ? 2 : 1));
  const auto value = take_number(rest);
  if (!value) return at + 1;
  std::optional<double> of;
  if (rest.starts_with('/') && rest.size() > 1 && is_digit(rest[1])) {
    rest.remove_prefix(1);
    of = take_number(rest);
  }
  if (!ends_value(rest)) return at + 1;
  const bool alone = name.data() == text.data() && rest.empty();
  if (!is_environment(name, *value, alone)) add(line, name, *value, of);
  return text.size() - rest.size();
}

// "INFO:root:", as Python's logging.basicConfig begins its lines.
std::string_view without_level(std::string_view text) {
  constexpr std::array<std::string_view, 5> levels{"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};
  const auto first = text.substr(0, 10).find(':');
  if (first == std::string_view::npos || !one_of<5>(text.substr(0, first), levels)) return text;
  const auto second = text.find(':', first + 1);
  if (second == std::string_view::npos || text.substr(first, second - first).find(' ') != std::string_view::npos) return text;
  return text.substr(second + 1);
}

std::string without_escapes(std::string_view text) {
  std::string clean;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1B') {
      clean += text[at];
      continue;
    }
    if (at + 1 >= text.size() || text[at + 1] != '[') continue;
    ++at;
    while (at + 1 < text.size() && !is_letter(text[++at])) {  // parameters, then one letter
    }
  }
  return clean;
}

// Of versions that were drawn over one another the last one with content.
std::string_view last_drawn(std::string_view text) {
  if (!has(text, '\r') && !has(text, '\b')) return text;
  while (!text.empty()) {
    const auto at = text.find_last_of("\r\b");
    const auto version = at == std::string_view::npos ? text : text.substr(at + 1);
    if (at == std::string_view::npos || !trim(version).empty()) return version;
    text = text.substr(0, at);
  }
  return text;
}

}  // namespace

std::optional<double> take_number(std::string_view& text) {
  auto rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  double value = 0;
  if (!rest.empty() && (is_digit(rest.front()) || rest.front() == '.')) {
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (code == std::errc::invalid_argument) return std::nullopt;
    if (code == std::errc::result_out_of_range) value = std::strtod(std::string(rest.begin(), end).c_str(), nullptr);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  } else if (starts_ignoring_case(rest, "nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
    rest.remove_prefix(3);
  } else if (starts_ignoring_case(rest, "inf")) {
    value = std::numeric_limits<double>::infinity();
    rest.remove_prefix(starts_ignoring_case(rest, "infinity") ? 8 : 3);
  } else {
    return std::nullopt;
  }
  text = rest;
  return negative ? -value : value;
}

bool may_have_metrics(std::string_view line) {
  if (has(line, '=') || names_epoch(line)) return true;
  // A flat object begins with its brace; a Keras line, whatever it is drawn with, has a count "45/45".
  return has(line, ':') && (has(line, '{') || (has(line, '/') && line.find(" - ") != std::string_view::npos));
}

bool read_pairs(std::string_view text, MetricLine& line) {
  for (const std::string_view shell : {"export ", "declare ", "set "})
    if (text.starts_with(shell)) return false;
  const auto before = line.metrics.size();
  for (auto at = text.find('='); at != std::string_view::npos; at = text.find('=', at)) at = read_pair(text, at, line);
  return line.metrics.size() > before || line.epoch || line.step;
}

bool read_keras(std::string_view text, MetricLine& line) {
  auto rest = trim(text);
  const auto count = rest.substr(0, rest.find(' '));
  const auto slash = count.find('/');
  if (slash == 0 || slash == std::string_view::npos || count.find_first_not_of("0123456789/") != std::string_view::npos) return false;
  if (count.substr(0, slash) != count.substr(slash + 1)) return false;  // values in the middle of an epoch are not final
  for (auto at = rest.find(" - "); at != std::string_view::npos;) {
    rest.remove_prefix(at + 3);
    at = rest.find(" - ");
    const auto part = trim(rest.substr(0, at));
    const auto colon = part.find(": ");
    if (colon == std::string_view::npos || !is_name(part.substr(0, colon))) continue;
    auto number = trim(part.substr(colon + 2));
    if (const auto value = take_number(number); value && number.empty()) line.metrics.push_back({std::string(part.substr(0, colon)), *value, false});
  }
  line.of_epoch = !line.metrics.empty();
  return line.of_epoch;
}

bool read_flat_object(std::string_view text, MetricLine& line) {
  auto rest = trim(text);
  if (!rest.starts_with('{') || !rest.ends_with('}')) return false;
  rest = rest.substr(1, rest.size() - 2);
  MetricLine found;
  const auto skip = [&] { rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size())); };
  for (skip(); !rest.empty(); skip()) {
    const char quote = rest.front();
    if (quote != '"' && quote != '\'') return false;
    const auto end = rest.find(quote, 1);
    if (end == std::string_view::npos) return false;
    const auto name = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    skip();
    if (!is_name(name) || !rest.starts_with(':')) return false;
    rest.remove_prefix(1);
    skip();
    const auto value = take_number(rest);
    if (!value) return false;
    add(found, name, *value);
    skip();
    if (!rest.empty() && rest.front() != ',') return false;
    if (!rest.empty()) rest.remove_prefix(1);
  }
  line = std::move(found);
  return true;
}

bool read_epoch(std::string_view text, MetricLine& line) {
  if (!names_epoch(text)) return false;
  const auto folded = lower(text);
  for (auto at = folded.find("epoch"); at != std::string::npos; at = folded.find("epoch", at + 1)) {
    if (at > 0 && (belongs_to_name(folded[at - 1]) || folded[at - 1] == '=')) continue;
    auto rest = text.substr(at + 5);
    rest.remove_prefix(std::min(rest.find_first_not_of(" [(:#="), rest.size()));
    if (rest.empty() || !is_digit(rest.front()) || rest.data() == text.data() + at + 5) continue;
    const auto epoch = take_number(rest);
    if (!epoch) continue;
    std::optional<double> of;
    for (const std::string_view divider : {"/", " of ", " / "}) {
      if (!rest.starts_with(divider)) continue;
      auto total = rest.substr(divider.size());
      if (!total.empty() && is_digit(total.front())) of = take_number(total);
    }
    if (!of && trim(text.substr(0, at)).find(' ') != std::string_view::npos) continue;  // "saved after epoch 3"; but "Train Epoch: 3" counts
    add(line, "epoch", *epoch, of);
    return true;
  }
  return false;
}

MetricLine read_metric_line(std::string_view raw) {
  MetricLine line;
  auto text = last_drawn(raw);
  std::string clean;
  if (has(text, '\x1B')) {
    clean = without_escapes(text);
    text = clean;
  }
  text = without_level(split_rank_prefix(text).text);
  if (read_flat_object(text, line)) return line;
  if (read_keras(text, line)) return line;
  read_pairs(text, line);
  if (!line.epoch) read_epoch(text, line);
  return line;
}

}  // namespace trainstep::result
