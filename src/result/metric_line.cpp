// SPDX-License-Identifier: Apache-2.0
#include "result/metric_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/text.h"
#include "result/metric_boosting.h"
#include "result/metric_filter.h"
#include "result/metric_prose.h"
#include "result/metric_table.h"
#include "result/metric_words.h"
#include "result/shown_line.h"

namespace trainstep::result {
namespace {

constexpr std::size_t longest_name = 100;
constexpr std::array<std::string_view, 6> steps{"step", "steps", "iter", "iteration", "batch", "global_step"};

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

bool names_epoch(std::string_view text) { return text.find("poch") != std::string_view::npos || text.find("POCH") != std::string_view::npos; }

// Sorts a value into its place.
void add(MetricLine& line, std::string_view name, double value, std::optional<double> of = {}, bool only_progress = false) {
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
  } else if (!of && !only_progress && plain != "v_num") {  // Lightning's number of the run
    line.metrics.push_back({std::string(name), value, false});
  }
}

// A dump of the environment, not a metric: WORLD_SIZE=4 anywhere, RANK=0 alone on its line.
bool is_environment(std::string_view name, double value, bool alone) {
  if (std::ranges::any_of(name, [](char c) { return is_letter(c) && !is_upper(c); })) return false;
  return name.find('_') != std::string_view::npos || (alone && std::trunc(value) == value);
}

bool closes(char c) { return c == ' ' || c == '\t' || c == ',' || c == ';' || c == '|' || c == ')' || c == ']' || c == '}'; }
bool opens(char c) { return c == ' ' || c == '\t' || c == ',' || c == ';' || c == '|' || c == '(' || c == '[' || c == '{'; }

bool ends_value(std::string_view rest) {
  if (rest.starts_with('%')) rest.remove_prefix(1);
  if (rest.starts_with('.')) rest.remove_prefix(1);  // the end of a sentence
  return rest.empty() || closes(rest.front());
}

// The name that ends at `end`; empty if what stands there is something else: an option, a path, part of a URL.
std::string_view name_before(std::string_view text, std::size_t end) {
  auto start = end;
  while (start > 0 && belongs_to_name(text[start - 1])) --start;
  const auto name = text.substr(start, end - start);
  const bool bounded = start == 0 || opens(text[start - 1]);
  return bounded && is_name(name) ? name : std::string_view();
}

// Whether a place of a line lies in the brackets of a call: "Linear(in_features=784, …)". Asked from left to right.
class Calls {
 public:
  explicit Calls(std::string_view text) : m_text(text) {}
  bool around(std::size_t place) {
    if (m_at == 0) m_at = std::min(m_text.find('('), m_text.size());
    for (; m_at < place; ++m_at) {
      if (m_text[m_at] == '(') m_open = (m_open << 1U) | static_cast<unsigned>(m_at > 0 && belongs_to_name(m_text[m_at - 1]));
      if (m_text[m_at] == ')') m_open >>= 1U;
    }
    return m_open != 0;
  }

 private:
  std::string_view m_text;
  std::size_t m_at = 0;
  std::uint64_t m_open = 0;  // a bit for each bracket, the innermost last; 1: of a call
};

// In what programs print of their objects, which has any names, only these count: "EvalResult(loss=0.3)".
bool is_of_metrics(std::string_view name) {
  const auto kind = kind_of(name);
  return kind == Word::metric || kind == Word::weak || kind == Word::beside;
}

// Says which round something was: "bestIteration", but not "epoch" or "global_step".
bool counts_rounds(std::string_view name) {
  const auto last = kind_of_last(name);
  return (last == Word::step || last == Word::epoch) && kind_of(name) != Word::epoch && !one_of<6>(lower(name), steps);
}

// "bestIteration = 4", "max depth = 8", "0.01 >= min_delta = 0.0": a sentence in which a name with blanks around its sign is none of a metric.
bool says_something_else(std::string_view text, std::string_view name) {
  const auto before = static_cast<std::size_t>(name.data() - text.data());
  const bool behind_words = before > 1 && text[before - 1] == ' ' && is_letter(text[before - 2]);
  return kind_of(name) == Word::setting || counts_rounds(name) || (behind_words && !is_of_metrics(name));
}

// The pair around the equals sign at `at`. Returns where to look for the next one.
std::size_t read_pair(std::string_view text, std::size_t at, Calls& calls, MetricLine& line) {
  if (at + 1 < text.size() && text[at + 1] == '=') return at + 2;
  const bool spaced = at > 0 && text[at - 1] == ' ' && at + 1 < text.size() && text[at + 1] == ' ';
  if (spaced && (text.front() == ' ' || text.front() == '\t')) return at + 1;  // indented: code, in a traceback
  const auto name = name_before(text, spaced ? at - 1 : at);
  if (name.empty() || (spaced && says_something_else(text, name))) return at + 1;
  auto rest = text.substr(at + (spaced ? 2 : 1));
  const bool list = rest.starts_with('[') && is_of_metrics(name);  // "lr=[0.001]", one for each group of parameters
  if (list) rest.remove_prefix(1);
  const auto value = take_number(rest);
  if (!value) return at + 1;
  std::optional<double> of;
  if (rest.starts_with('/') && rest.size() > 1 && is_digit(rest[1])) {
    rest.remove_prefix(1);
    of = take_number(rest);
  }
  if (!ends_value(rest)) return at + 1;
  const bool alone = name.data() == text.data() && rest.empty();
  const bool listed = name.data() == text.data() && rest == ",";  // an object that is printed in many lines
  const bool of_object = calls.around(static_cast<std::size_t>(name.data() - text.data())) && !is_of_metrics(name);
  if (!is_environment(name, *value, alone) && !listed) add(line, name, *value, of, of_object);
  return text.size() - rest.size();
}

// What a shell prints or is told of its variables.
bool is_shell(std::string_view text) {
  const char first = text.empty() ? '\0' : text.front();
  if (first != 'e' && first != 'd' && first != 's') return false;
  return text.starts_with("export ") || text.starts_with("declare ") || text.starts_with("set ");
}

// "45/45 [====] - 1s - loss: 0.1", at any place of the epoch.
bool is_keras_bar(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  const auto first = at;
  bool slash = false;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '/' && at > first)); ++at) slash = slash || text[at] == '/';
  return slash && (at == text.size() || text[at] == ' ') && text.find(" - ", at) != std::string_view::npos;
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

bool read_pairs(std::string_view text, MetricLine& line) {
  if (is_shell(text)) return false;
  const auto before = line.metrics.size();
  Calls calls(text);
  for (auto at = text.find('='); at != std::string_view::npos; at = text.find('=', at)) at = read_pair(text, at, calls, line);
  return line.metrics.size() > before || line.epoch || line.step;
}

bool read_keras(std::string_view text, MetricLine& line) {
  if (!is_keras_bar(text)) return false;
  auto rest = trim(text);
  const auto count = rest.substr(0, rest.find(' '));
  const auto slash = count.find('/');
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
    const bool quoted = quote == '\'' && rest.starts_with(quote);  // as Hugging Face's Trainer shortens them: {'loss': '0.6934'}
    if (quoted) rest.remove_prefix(1);
    const auto value = take_number(rest);
    if (!value || (quoted && !rest.starts_with(quote))) return false;
    if (quoted) rest.remove_prefix(1);
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

MetricLine read_metric_line(std::string_view raw, const MetricHints& hints, MetricTable& table) {
  MetricLine line;
  std::string clean;
  const auto text = shown_line(raw, clean);
  if ((table.open() || ((hints.has(Hint::words) || hints.has(Hint::header)) && !hints.has(Hint::pairs))) && table.read(text, line)) return line;
  if (hints.has(Hint::object) && read_flat_object(text, line)) return line;
  if (hints.has(Hint::keras) && read_keras(text, line)) return line;
  if (is_notice(text) || read_boosting(text, line)) return line;
  if (hints.has(Hint::pairs)) read_pairs(text, line);
  const bool complete = !line.metrics.empty() && (line.epoch || line.step);
  if (complete || !hints.has(Hint::words)) return line;
  if (!line.epoch) read_epoch(text, line);
  if (!is_keras_bar(text)) read_prose(text, line);
  return line;
}

}  // namespace trainstep::result
