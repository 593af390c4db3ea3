// SPDX-License-Identifier: Apache-2.0
#include "result/worded_metrics.h"

#include <array>
#include <cmath>
#include <string>

#include "result/metric_text.h"
#include "result/metric_words.h"

namespace trainstep::result {
namespace {

constexpr std::size_t most_words = 4;               // of a name
constexpr std::size_t most_values = 100;            // of a line
constexpr std::size_t longest_abbreviation = 6;     // "Avg." and "Valid." do not end a sentence
constexpr std::size_t widest_gap = 60;              // between a word and its value, as in a table
constexpr std::string_view drawn_light = "\u2502";  // │ and ┃, as rich draws tables
constexpr std::string_view drawn_heavy = "\u2503";

enum class Gap { none, blank, colon, bracket, cell, aligned };  // between a phrase and what follows it

bool belongs_to_word(char c) { return belongs_to_name(c) || c == '@' || c == '\''; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view without_dot(std::string_view word) { return word.ends_with('.') ? word.substr(0, word.size() - 1) : word; }

bool is_level(std::string_view word) {
  constexpr std::array<std::string_view, 6> levels{"DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL"};
  return std::ranges::find(levels, word) != levels.end();
}

// "number of nan iterations: 0" counts something else.
bool counts_others(std::string_view word) { return word == "of" || word == "per"; }

// "Start training from score 0.3": a sentence, not a name.
bool makes_sentence(std::string_view word) {
  constexpr std::array<std::string_view, 8> words{"from", "to", "by", "with", "at", "than", "in", "after"};
  return std::ranges::find(words, word) != words.end();
}

bool joins(std::string_view word) { return word == "of" || word == "on" || word == "for"; }

// The words since the last sign that divides.
class Phrase {
 public:
  void add(std::string_view word) {
    if (m_count < m_words.size()) m_words[m_count] = word;
    ++m_count;
  }
  void clear() { m_count = 0; }
  [[nodiscard]] std::size_t count() const { return m_count; }
  [[nodiscard]] bool fits() const { return m_count > 0 && m_count <= most_words; }
  [[nodiscard]] std::string_view first() const { return m_count == 0 ? std::string_view() : m_words[0]; }
  [[nodiscard]] std::string_view word(std::size_t at) const { return m_words[at]; }
  [[nodiscard]] std::string_view last() const { return fits() ? m_words[m_count - 1] : std::string_view(); }
  [[nodiscard]] std::string_view before_last() const { return fits() && m_count > 1 ? m_words[m_count - 2] : std::string_view(); }
  // Of "Accuracy of the network on the 10000 test images", "Test accuracy of the model": how many words the name has; 0: it is no such phrase.
  [[nodiscard]] std::size_t name_before_of() const {
    for (std::size_t i = 1; i < std::min(m_count, most_words); ++i)
      if (joins(m_words[i])) return metric_kind(m_words[i - 1]) != MetricKind::none && (i == 1 || names_data(m_words[0])) ? i : 0;
    return 0;
  }
  template <class Is>
  [[nodiscard]] bool any(const Is& is) const {
    return std::ranges::any_of(m_words.begin(), m_words.begin() + static_cast<std::ptrdiff_t>(std::min(m_count, m_words.size())), is);
  }
  [[nodiscard]] std::string name(std::size_t words) const {
    std::string name;
    for (std::size_t i = m_words[0] == "the" || m_words[0] == "The" ? 1 : 0; i < words; ++i)
      name.append(name.empty() ? "" : "_").append(without_dot(m_words[i]));
    return name;
  }

 private:
  std::array<std::string_view, most_words> m_words;
  std::size_t m_count = 0;
};

struct Value {
  Metric metric;
  MetricKind kind = MetricKind::none;
  bool sure = false;   // without company
  bool whole = false;  // 3, not 3.0
};

class Reader {
 public:
  explicit Reader(std::string_view text) : m_text(text) {}
  bool read(MetricLine& line);

 private:
  void read_word();
  void read_number();
  void read_sign();
  void end_phrase();
  bool count(std::string_view& rest);
  bool value(std::string_view& rest);
  bool take(std::string name, MetricKind kind, double number, bool whole);
  [[nodiscard]] bool begins_number() const;
  void skip_token();

  std::string_view m_text;
  std::size_t m_at = 0;
  std::size_t m_gap_from = 0;  // where the gap began
  Phrase m_phrase;
  Gap m_gap = Gap::none;
  std::string_view m_data;  // "Test" of "Test set: …"
  std::optional<double> m_step;
  bool m_placed = false;  // the line says where in the training it was printed
  std::vector<Value> m_values;
};

bool Reader::begins_number() const {
  auto at = m_at;
  if (m_text[at] == '-' || m_text[at] == '+') ++at;
  if (at < m_text.size() && m_text[at] == '.') ++at;
  if (at < m_text.size() && is_digit(m_text[at])) return true;
  auto rest = m_text.substr(at);
  const bool named = starts_ignoring_case(rest, "nan") || starts_ignoring_case(rest, "inf");
  const bool expected = m_gap == Gap::colon || (m_gap == Gap::blank && metric_kind(m_phrase.last()) != MetricKind::none);
  return named && expected && take_number(rest) && ends_value(rest);
}

void Reader::read_word() {
  const auto start = m_at;
  while (m_at < m_text.size() && belongs_to_word(m_text[m_at])) ++m_at;
  const auto word = m_text.substr(start, m_at - start);
  if (m_gap == Gap::bracket && names_step(m_phrase.last()) && word == "train" && m_text.substr(m_at, 1) == ")") {  // "Iter(train) [ 4/20]"
    m_data = word;
    m_gap = Gap::none;
    ++m_at;
    return;
  }
  if (m_gap != Gap::none && m_gap != Gap::blank) end_phrase();
  m_gap = Gap::none;
  m_gap_from = m_at;
  if (word == "is" && m_phrase.count() > 0) {
    m_gap = Gap::colon;
    return;
  }
  if (is_level(word)) return end_phrase();
  m_phrase.add(word);
  if (word.ends_with('.') && word.size() > longest_abbreviation) end_phrase();
}

// A phrase without a value of its own.
void Reader::end_phrase() {
  if (names_data(m_phrase.first())) m_data = m_phrase.first();
  m_phrase.clear();
  m_gap = Gap::none;
}

// What is no word, no value and no sign: times, versions, addresses.
void Reader::skip_token() {
  while (m_at < m_text.size() && !is_blank(m_text[m_at]) && m_text[m_at] != ',' && m_text[m_at] != '|') ++m_at;
  end_phrase();
}

// "Step [100/600]", "iteration   10/   100 |", "iter 10:", "Epoch: 3".
bool Reader::count(std::string_view& rest) {
  const auto last = m_phrase.last();
  const bool epoch = same_ignoring_case(last, "epoch");
  if (!m_phrase.fits() || m_phrase.any(counts_others) || (!epoch && !names_step(last))) return false;
  const auto number = take_count(rest);
  if (!number || (!rest.empty() && (is_letter(rest.front()) || rest.front() == '.'))) return false;
  if (!epoch && !m_step) m_step = number;
  m_placed = true;
  if (names_data(m_phrase.first())) m_data = m_phrase.first();
  if (rest.starts_with('/')) {
    rest.remove_prefix(1);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    (void)take_count(rest);
  }
  return true;
}

// Takes the number, and what belongs to it, off the front of `rest`.
bool Reader::value(std::string_view& rest) {
  const auto begin = rest;
  auto counted = rest;
  const bool fraction = take_count(counted) && counted.starts_with('/');
  auto number = take_number(rest);
  if (!number) return false;
  const auto printed = begin.substr(0, begin.size() - rest.size());
  bool whole = std::isfinite(*number) && printed.find_first_of(".eE") == std::string_view::npos;
  if (rest.starts_with('/')) {
    rest.remove_prefix(1);
    const auto of = take_count(rest);
    if (!fraction || !of || *of <= 0 || *number > *of) return false;
    number = *number / *of;
    whole = false;
  }
  if (!ends_value(rest)) return false;
  whole = whole && !rest.starts_with('%') && !rest.starts_with(" %");
  const bool sure_gap = m_gap == Gap::colon || m_gap == Gap::cell || m_gap == Gap::aligned;
  if (m_gap == Gap::bracket || (!sure_gap && whole)) return false;
  if (const auto words = m_phrase.name_before_of(); words != 0)
    return m_gap == Gap::colon && take(m_phrase.name(words), metric_kind(m_phrase.word(words - 1)), *number, whole);
  if (!m_phrase.fits()) return false;
  return take(m_phrase.name(m_phrase.count()), metric_kind(m_phrase.before_last(), m_phrase.last()), *number, whole);
}

bool Reader::take(std::string name, MetricKind kind, double number, bool whole) {
  if (kind == MetricKind::none || m_phrase.any(names_setting) || m_phrase.any(makes_sentence) || name.size() > longest_name) return false;
  const bool of_data = m_phrase.any(holds_data);
  if (names_data(m_phrase.first()) && m_phrase.count() > 1) m_data = m_phrase.first();
  const bool titled = m_gap == Gap::colon && !whole && is_upper(m_phrase.first().front());
  const bool known = of_data || !m_data.empty() || titled || (m_gap == Gap::cell && !whole) || m_gap == Gap::aligned || m_phrase.any(holds_outcome);
  if (!of_data && !m_data.empty() && kind != MetricKind::rate) name = std::string(m_data) + "_" + name;
  if (m_values.size() < most_values)
    m_values.push_back({{std::move(name), number, false}, kind, kind == MetricKind::result || (kind == MetricKind::usual && known), whole});
  return true;
}

void Reader::read_number() {
  auto rest = m_text.substr(m_at);
  const bool near = m_at - m_gap_from <= widest_gap;
  if (m_phrase.name_before_of() != 0 && m_gap == Gap::blank) {  // "on the 10000 test images"
    if (take_number(rest)) m_at = m_text.size() - rest.size();
    return;
  }
  if (m_phrase.count() == 0) {  // "[   64/60000]"
    auto of = rest;
    if (take_count(of) && of.starts_with('/') && of.size() > 1 && is_digit(of[1])) m_placed = true;
  }
  if (near && m_phrase.count() > 0 && (count(rest) || value(rest))) {
    m_at = m_text.size() - rest.size();
    m_phrase.clear();
    m_gap = Gap::none;
    return;
  }
  skip_token();
}

void Reader::read_sign() {
  const char c = m_text[m_at];
  const auto rest = m_text.substr(m_at);
  const bool cell = c == '|' || rest.starts_with(drawn_light) || rest.starts_with(drawn_heavy);
  m_at += cell && c != '|' ? drawn_light.size() : 1;
  if (is_blank(c)) {
    if (m_gap == Gap::none && m_phrase.count() > 0) m_gap = Gap::blank;
    return;
  }
  const bool first = m_gap == Gap::none || m_gap == Gap::blank;
  if (c == ':' && first)
    m_gap = Gap::colon;
  else if (cell && first)
    m_gap = Gap::cell;
  else if (c == '[' || c == '(' || c == '#')
    m_gap = Gap::bracket;
  else if (c == '=' && first && (rest.starts_with("=  ") || (m_at > 2 && m_text.substr(m_at - 3, 2) == "  ")))
    m_gap = Gap::aligned;
  else
    return end_phrase();
  if (m_phrase.count() == 0) m_gap = Gap::none;
}

bool Reader::read(MetricLine& line) {
  while (m_at < m_text.size()) {
    const char c = m_text[m_at];
    const bool begins = m_at == 0 || !belongs_to_word(m_text[m_at - 1]);
    if (begins && begins_number())
      read_number();
    else if (begins && is_letter(c))
      read_word();
    else if (belongs_to_word(c) && !is_blank(c))
      skip_token();
    else
      read_sign();
  }
  // What is not sure by itself is beside what is, beside another value of its kind, or in a line of an epoch or step.
  const bool placed = m_placed || line.epoch || line.step;
  const auto values = [&](MetricKind kind, bool sure) {
    return std::ranges::count_if(m_values, [&](const Value& each) { return each.kind >= kind && (sure ? each.sure : !each.whole); });
  };
  const bool trusted = placed || values(MetricKind::usual, true) > 0 || values(MetricKind::usual, false) > 1;
  const auto before = line.metrics.size();
  for (auto& each : m_values)
    if (trusted || each.sure) line.metrics.push_back(std::move(each.metric));
  if (line.metrics.empty()) return false;
  if (!line.step) line.step = m_step;
  return line.metrics.size() > before;
}

// "[1,  2000] loss: 2.2" is epoch 1, batch 2000, as is "[1/5][2000/9000] Loss_D: 0.5"; "[3/100] 1 tree, train loss: 0.5" is step 3; "Train: 0 [
// 50/1251 (  4%)]  Loss: 6.9" is epoch 0.
void read_place(std::string_view rest, MetricLine& line) {
  if (!rest.starts_with('[')) {
    const auto colon = rest.substr(0, 12).find(": ");
    if (colon == std::string_view::npos || !names_data(rest.substr(0, colon))) return;
    rest.remove_prefix(colon + 2);
    if (const auto epoch = take_count(rest); epoch && rest.starts_with(" [")) line.epoch = epoch;
    return;
  }
  const auto take_after = [&](std::string_view sign) {
    if (!rest.starts_with(sign)) return std::optional<double>();
    rest.remove_prefix(sign.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return take_count(rest);
  };
  const auto first = take_after("[");
  const bool pair = rest.starts_with(',');
  const auto second = take_after(pair ? "," : "/");
  if (!first || !second || !rest.starts_with(']')) return;
  const auto third = take_after("][");
  if (pair || third) line.epoch = first;
  line.step = pair ? second : third ? third : first;
}

// The word that ends at `end`, whatever it is.
std::string_view word_before(std::string_view text, std::size_t end) {
  auto start = end;
  while (start > 0 && end - start <= longest_name && belongs_to_word(text[start - 1])) --start;
  return text.substr(start, end - start);
}

bool may_be_named(std::string_view text, std::size_t number) {
  constexpr std::string_view gaps = " \t:|[(=\xE2\x94\x82\x83";
  auto end = number;
  while (end > 0 && number - end <= widest_gap && has(gaps, text[end - 1])) --end;
  if (end == number || end == 0) return false;
  const auto word = word_before(text, end);
  return !word.empty() && is_letter(word.front()) && may_end_name(word);
}

// "loss 0.5"
bool may_be_fraction(std::string_view text, std::size_t dot) {
  auto start = dot;
  while (start > 0 && dot - start < 20 && is_digit(text[start - 1])) --start;
  if (start > 0 && (text[start - 1] == '-' || text[start - 1] == '+')) --start;
  return may_be_named(text, start);
}

// "loss: 3", "iter 10: …"
bool may_be_labelled(std::string_view text, std::size_t colon) {
  if (colon > 0 && is_digit(text[colon - 1])) {
    auto end = colon;
    while (end > 0 && colon - end < 20 && is_digit(text[end - 1])) --end;
    if (end > 0 && text[end - 1] == ' ' && names_step(word_before(text, end - 1))) return true;
  }
  const auto value = text.find_first_not_of(" \t", colon + 1);
  return value != std::string_view::npos && value - colon <= widest_gap && has("0123456789.+-nNiI", text[value]) && may_be_named(text, value);
}

// "Accuracy of …", "Test accuracy of …"
bool says_of_what(std::string_view text) {
  for (auto blank = text.find(' '), word = std::size_t{0}; blank < 30; word = blank + 1, blank = text.find(' ', word)) {
    const auto next = text.substr(blank);
    const bool joined = next.starts_with(" of ") || next.starts_with(" on ") || next.starts_with(" for ");
    if (joined) return metric_kind(text.substr(word, blank - word)) != MetricKind::none;
    if (word != 0) break;
  }
  return false;
}

}  // namespace

bool may_have_worded(std::string_view line) {
  for (auto at = line.find('.', 1); at != std::string_view::npos && at + 1 < line.size(); at = line.find('.', at + 1))
    if (is_digit(line[at + 1]) && is_digit(line[at - 1]) && may_be_fraction(line, at)) return true;
  auto at = line.find(':');
  if (at == std::string_view::npos) return false;
  for (; at != std::string_view::npos; at = line.find(':', at + 1))
    if (may_be_labelled(line, at)) return true;
  return says_of_what(line);
}

bool read_worded(std::string_view text, MetricLine& line) {
  MetricLine place;
  read_place(text, place);
  MetricLine found = line;
  if (!found.epoch) found.epoch = place.epoch;
  if (!found.step) found.step = place.step;
  const bool any = Reader(text).read(found);
  if (!found.metrics.empty()) line = std::move(found);
  return any;
}

}  // namespace trainstep::result
