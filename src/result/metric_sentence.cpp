// SPDX-License-Identifier: Apache-2.0
#include "result/metric_sentence.h"

#include <array>
#include <bitset>
#include <cmath>
#include <string>
#include <utility>

#include "result/metric_phrase.h"
#include "result/metric_position.h"
#include "result/metric_text.h"
#include "result/metric_words.h"
#include "result/named_value.h"
#include "result/value_brackets.h"

namespace trainstep::result {
namespace {

constexpr std::size_t most_values = 100;            // per line
constexpr std::size_t longest_abbreviation = 6;     // "Avg." and "Valid." do not end a sentence
constexpr std::string_view drawn_light = "\u2502";  // │ and ┃, as rich draws tables
constexpr std::string_view drawn_heavy = "\u2503";

enum class Heading { none, metric, setting, goal, other };

enum class Gap { none, blank, colon, bracket, cell, aligned };  // what separates a phrase from what follows

bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool is_level(std::string_view word) {
  constexpr std::array<std::string_view, 6> levels{"DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL"};
  return std::ranges::find(levels, word) != levels.end();
}

// "number of nan iterations: 0" counts something else.
bool counts_others(std::string_view word) { return word == "of" || word == "per"; }

// "Start training from score 0.3" is a sentence, not a name.
bool makes_sentence(std::string_view word) {
  constexpr std::array<std::string_view, 8> words{"from", "to", "by", "with", "at", "than", "in", "after"};
  return std::ranges::find(words, word) != words.end();
}

// The same for "I am train loss=9".
bool belongs_to_sentence(std::string_view word) {
  constexpr std::array<std::string_view, 14> words{"a", "am", "and", "are", "but", "got", "has", "have", "i", "or", "that", "this", "was", "we"};
  return makes_sentence(word) || std::ranges::any_of(words, [&](std::string_view each) { return same_ignoring_case(word, each); });
}

// It stands where a number is expected: "loss: None".
bool is_no_number(std::string_view word) {
  constexpr std::array<std::string_view, 4> words{"n/a", "na", "none", "null"};
  return std::ranges::any_of(words, [&](std::string_view each) { return same_ignoring_case(word, each); });
}

// It separates two values: "train loss 0.5 vs val loss 0.6".
bool separates(std::string_view word) { return word == "vs" || word == "vs." || word == "versus"; }

// It joins two values: "accuracy: 0.91 and F1: 0.5".
bool continues(std::string_view word) { return word == "and" || word == "while"; }

struct Value {
  Metric metric;
  MetricLine::Place place;
  MetricKind kind = MetricKind::none;
  bool sure = false;      // a metric even without others nearby
  bool whole = false;     // 3, not 3.0
  bool if_known = false;  // "loss 1": only if the log has told a loss before
};

// Puts the words before the name.
void prepend(std::string_view words, std::string& name) {
  if (words.empty() || words.size() + name.size() >= longest_name) return;
  name.insert(0, 1, '_').insert(0, words);
  std::ranges::replace_if(name, is_blank, '_');
}

bool is_other(double value, double than) { return value != than && !(std::isnan(value) && std::isnan(than)); }

// Within a test, "5.39 (  71.30)" is the value of one batch and, in brackets, the average so far, which is the value. Consumes both.
void take_average(std::string_view& rest, double& value) {
  if (!rest.starts_with(" (")) return;
  auto text = rest.substr(2);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto average = take_number(text);
  if (!average || !text.starts_with(')')) return;
  rest = text.substr(1);
  value = *average;
}

// "* Acc@1 69.8 Acc@5 89.1" concludes the test of PyTorch's imagenet example and those modeled on it.
bool concludes_test(std::string_view text) {
  if (!text.starts_with("* ")) return false;
  text.remove_prefix(std::min(text.find_first_not_of(' ', 1), text.size()));
  return text.starts_with("Acc@") || text.starts_with("Prec@");
}

class SentenceReader {
 public:
  SentenceReader(std::string_view text, MetricLine& line) : m_text(text), m_line(line), m_brackets(text) {
    if (contains(text, "Saving dict for global step")) m_data = "eval";  // TensorFlow's Estimator, after an evaluation
  }
  bool read();
  void walk();
  void tell_apart();

 private:
  void read_word();
  void read_pair(std::size_t number);
  void take_heading();
  bool name_after_heading(std::string& name, std::string_view printed);
  [[nodiscard]] bool qualifies(std::string_view name) const;
  void take_data(std::string_view word, bool unsaid = false);
  std::string_view data_behind(std::string_view& rest) const;
  void read_number();
  void read_sign();
  bool skip_remark();
  void end_phrase(bool heads = true);
  bool count(std::string_view& rest);
  bool value(std::string_view& rest);
  bool take(std::string name, MetricKind kind, double number, bool whole, std::string_view data);
  [[nodiscard]] std::string_view label() const;
  [[nodiscard]] bool begins_number() const;
  void skip_token();

  std::string_view m_text;
  MetricLine& m_line;
  ValueBrackets m_brackets;
  std::size_t m_at = 0;
  std::size_t m_next_pair = 0;
  std::size_t m_gap_from = 0;  // start of the gap
  Phrase m_phrase;
  Gap m_gap = Gap::none;
  std::string_view m_label;     // the last words that have no value: "Best" in "Best: loss=0.2 acc=0.9"
  bool m_counts_label = false;  // it belongs to a count, as in "best epoch 3"
  std::string_view m_data;      // "Test" in "Test set: …"
  Heading m_heading = Heading::none;
  std::string m_title;       // of the heading: "AUC" in "AUC: train=0.95, valid=0.93"
  bool m_heads_all = false;  // it applies to all names, not only to those of data
  bool m_unsaid = false;     // m_data does not apply to name=value: "INFO train: loss=0.5" names a logger, "Train Epoch: 1 … loss=0.5" the epoch
  bool m_level = false;      // the previous word is a log level
  bool m_counted = false;    // a number precedes the phrase: "8 train, 8 val images"
  bool m_partial = false;    // the line tells how far an epoch or a test is: "[10/196]"
  bool m_if_known = false;   // the value being read counts only for a known name
  std::optional<double> m_step;
  bool m_dropped = false;  // a name is empty
  bool m_placed = false;   // the line tells the position in the training
  std::vector<Value> m_values;
};

bool SentenceReader::begins_number() const {
  auto at = m_at;
  if (m_text[at] == '-' || m_text[at] == '+') ++at;
  if (at < m_text.size() && m_text[at] == '.') ++at;
  if (at < m_text.size() && is_digit(m_text[at])) return true;
  auto rest = m_text.substr(at);
  const bool named = starts_ignoring_case(rest, "nan") || starts_ignoring_case(rest, "inf") || begins_shown(rest);
  const bool expected = m_gap == Gap::colon || (m_gap == Gap::blank && metric_kind(m_phrase.last()) != MetricKind::none);
  return named && expected && take_scalar(rest) && ends_value(rest);
}

void SentenceReader::read_word() {
  const auto start = m_at;
  while (m_at < m_text.size() && belongs_to_word(m_text[m_at])) ++m_at;
  if (const auto at = m_text.substr(start, m_at - start).find('@'); at != std::string_view::npos)
    m_at = std::max(m_at, start + at + threshold_size(m_text.substr(start + at)));
  else
    m_at = range_end(m_text, m_at);
  const auto word = m_text.substr(start, m_at - start);
  if (m_gap == Gap::bracket && names_step(m_phrase.last()) && word == "train" && m_text.substr(m_at, 1) == ")") {  // "Iter(train) [ 4/20]"
    take_data(word);
    m_gap = Gap::none;
    ++m_at;
    return;
  }
  const bool no_value = m_gap != Gap::none && m_phrase.count() > 0 && is_no_number(word);
  if (m_gap != Gap::none && m_gap != Gap::blank) end_phrase();
  m_gap = Gap::none;
  m_gap_from = m_at;
  if (no_value || separates(word)) return m_phrase.clear();
  if (m_phrase.count() == 0 && continues(word)) return;
  if (word == "is" && m_phrase.count() > 0) {
    m_gap = Gap::colon;
    return;
  }
  if (is_level(word)) {
    end_phrase();
    m_unsaid = true;
    m_level = true;
    return;
  }
  m_phrase.add(word);
  if (word.ends_with('.') && word.size() > longest_abbreviation) end_phrase();
}

// Ends a phrase that has no value.
void SentenceReader::end_phrase(bool heads) {
  if (names_data(m_phrase.first()))
    take_data(m_phrase.first(), m_level && m_phrase.count() == 1 && m_gap == Gap::colon);
  else if (const auto behind = m_phrase.data_behind(); m_gap == Gap::colon && !behind.empty())  // "Results on the test set: …"
    take_data(behind);
  m_label = label();
  if (heads) take_heading();
  m_phrase.clear();
  m_gap = Gap::none;
  m_level = m_counted = false;
}

// A phrase before name=value which has no value itself. A new one replaces it.
void SentenceReader::take_heading() {
  if (m_phrase.count() == 0) return;
  m_heading = Heading::none;
  m_heads_all = m_gap == Gap::colon || m_gap == Gap::bracket;
  const auto of = m_phrase.name_before_of();
  const auto last = m_phrase.last();
  const bool logger = m_level && m_phrase.count() == 1 && m_gap == Gap::colon;
  const bool counted = m_counted && names_time_unit(m_phrase.first());  // "12.3 ms loss"
  if (counted || logger || (of == 0 && !m_phrase.fits()) || m_phrase.any(belongs_to_sentence) || m_phrase.any(holds_reference)) return;
  const bool per = m_phrase.count() > 2 && m_phrase.word(1) == "per" && metric_kind(m_phrase.first()) >= MetricKind::usual;  // "IoU per class"
  const auto kind = metric_kind(m_phrase.before_last(), last);
  if (!per && (m_phrase.any(names_setting) || (of == 0 && m_phrase.any(counts_others))))
    m_heading = m_phrase.any(names_goal) ? Heading::goal : Heading::setting;
  else if (per || of != 0 || kind != MetricKind::none || last == "AP" || last == "AR")
    m_heading = Heading::metric;
  else if (m_heads_all && !names_data(last) && !names_step(last) && !same_ignoring_case(last, "epoch"))
    m_heading = Heading::other;
  m_heads_all = m_heads_all && !starts_ignoring_case(last, "err");  // "error: code=5"
  m_title = m_phrase.name(of != 0 ? of : std::min(m_phrase.count(), most_words));
}

// Names what stands below a heading after both, train_AUC, F1_micro, if its own name is not a metric's. Empty: not a metric.
bool SentenceReader::name_after_heading(std::string& name, std::string_view printed) {
  const bool of_data = holds_data(name);
  const bool metric = metric_kind(name) != MetricKind::none;
  if (m_heading == Heading::goal ? metric || of_data : m_heading == Heading::setting && !metric && of_data) return name.clear(), true;
  const bool headed = m_heading == Heading::metric && (of_data || (m_heads_all && (!holds_setting(name) || name == "min")));
  m_heads_all = m_heads_all && headed && !metric;
  if (metric || !(headed || (m_heading == Heading::other && of_data && !holds_setting(name))) || m_title.size() + name.size() >= longest_name)
    return false;
  if (m_heading == Heading::other && !has(printed, '.'))
    name.clear();  // "Samples: train=60000"
  else if (of_data)
    name.append("_").append(m_title);
  else
    name.insert(0, 1, '_').insert(0, m_title);
  return true;
}

// The words of the phrase as they stand in the line, of a sentence or a count only "best" and the like; without a phrase the last label.
std::string_view SentenceReader::label() const {
  if (m_phrase.count() == 0) return m_label;
  auto words = m_phrase.last();
  if (words.empty() || words == "the" || same_ignoring_case(words, "epoch") || names_step(words) || m_phrase.any(belongs_to_sentence)) {
    if (!m_phrase.any([&](std::string_view word) { return holds_reference(words = word); })) words = {};
  } else {
    words = std::string_view(m_phrase.first().begin(), words.end());
  }
  return words.find_first_of("./'@") == std::string_view::npos ? words : std::string_view();
}

void SentenceReader::take_data(std::string_view word, bool unsaid) {
  m_data = word;
  m_unsaid = unsaid && starts_ignoring_case(word, "train");
}

// Skips what is neither word, value nor separator: times, versions, addresses.
void SentenceReader::skip_token() {
  while (m_at < m_text.size() && !is_blank(m_text[m_at]) && m_text[m_at] != ',' && m_text[m_at] != '|') ++m_at;
  end_phrase();
}

// "Step [100/600]", "iteration   10/   100 |", "iter 10:", "Epoch: 3".
bool SentenceReader::count(std::string_view& rest) {
  const auto last = m_phrase.last();
  const bool epoch = same_ignoring_case(last, "epoch");
  if (!m_phrase.fits() || m_phrase.any(counts_others) || (!epoch && !names_step(last))) return false;
  const auto number = epoch ? take_count(rest) : take_long_count(rest);
  if (!number || (!rest.empty() && (is_letter(rest.front()) || rest.front() == '.'))) return false;
  if (!epoch && !m_step) m_step = number;
  m_placed = true;
  if (names_data(m_phrase.first())) take_data(m_phrase.first(), true);
  if (m_phrase.any(holds_reference))
    m_label = label(), m_counts_label = true;  // "Best epoch: 3, loss=0.2"
  else if (std::exchange(m_counts_label, false))
    m_label = {};  // "best epoch 3 | epoch 5 | loss 0.5"
  if (rest.starts_with('/')) {
    rest.remove_prefix(1);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    (void)take_count(rest);
  }
  return true;
}

// Consumes the number, and what belongs to it, from the front of `rest`.
bool SentenceReader::value(std::string_view& rest) {
  const auto begin = rest;
  auto counted = rest;
  const bool fraction = take_count(counted) && counted.starts_with('/');
  auto number = take_scalar(rest);
  if (!number) return false;
  skip_to_latest(rest, *number);
  if (m_partial && names_data(m_data) && !starts_ignoring_case(m_data, "train")) take_average(rest, *number);
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
  if (m_gap == Gap::bracket) return false;
  m_if_known = !sure_gap && whole;
  const bool remark = m_brackets.at(m_at) == ValueBrackets::Reads::best;
  if (remark && !m_phrase.any(holds_reference) && !holds_reference(m_label)) return false;
  if (const auto words = m_phrase.name_before_of(); words != 0) {
    const auto data = m_phrase.data_behind();
    const auto name = m_phrase.name(m_phrase.is_of_part(words) ? m_phrase.count() : words);
    if (m_gap != Gap::colon || !take(name, metric_kind(m_phrase.word(words - 1)), *number, whole, data)) return false;
    if (!data.empty()) take_data(data);
    return true;
  }
  if (!m_phrase.fits()) return false;
  const auto data = data_behind(rest);
  return take(m_phrase.name(m_phrase.count()), metric_kind(m_phrase.before_last(), m_phrase.last()), *number, whole, data);
}

// "loss: 0.5 (train)", if the line has not named the data before. Consumes it.
std::string_view SentenceReader::data_behind(std::string_view& rest) const {
  auto text = rest.substr(rest.starts_with(' ') ? 1 : 0);
  if (!text.starts_with('(') || !m_data.empty() || names_data(m_phrase.first())) return {};
  const auto word = text.substr(1, std::min(text.find(')'), text.size()) - 1);
  if (!names_data(word)) return {};
  rest = text.substr(word.size() + 1);
  return word;
}

// `data`: the data named after the name or the value.
bool SentenceReader::take(std::string name, MetricKind kind, double number, bool whole, std::string_view data) {
  if (kind == MetricKind::none || m_phrase.any(names_setting) || m_phrase.any(makes_sentence) || name.size() > longest_name) return false;
  const bool of_data = !data.empty() || m_phrase.any(holds_data);
  if (names_data(m_phrase.first()) && m_phrase.count() > 1) take_data(m_phrase.first());
  const bool titled = m_gap == Gap::colon && !whole && is_upper(m_phrase.first().front());
  const bool known = of_data || !m_data.empty() || titled || (m_gap == Gap::cell && !whole) || m_gap == Gap::aligned || m_phrase.any(holds_outcome);
  if (!of_data && kind != MetricKind::rate) data = m_data;
  if (kind != MetricKind::rate && holds_reference(m_label) && !holds_reference(name))
    prepend(m_label, name);
  else if (!data.empty() && (!of_data || !holds_data(name)))
    prepend(data, name);
  if (m_values.size() < most_values)
    m_values.push_back({.metric = {std::move(name), number, false},
                        .place = {m_at, m_at, m_label},
                        .kind = kind,
                        .sure = !m_if_known && (kind == MetricKind::result || (kind == MetricKind::usual && known)),
                        .whole = whole,
                        .if_known = m_if_known});
  return true;
}

void SentenceReader::read_number() {
  auto rest = m_text.substr(m_at);
  const bool near = m_at - m_gap_from <= widest_gap;
  if (m_phrase.name_before_of() != 0 && m_gap == Gap::blank) {  // "on the 10000 test images"
    if (take_number(rest)) m_at = m_text.size() - rest.size();
    return m_phrase.add_number();
  }
  if (m_phrase.count() == 0 || m_gap == Gap::bracket) {  // "[   64/60000]", "Test: [  0/196]"
    auto of = rest;
    m_partial = m_partial || (take_count(of) && of.starts_with('/') && of.size() > 1 && is_digit(of[1]));
    m_placed = m_placed || (m_partial && m_phrase.count() == 0);
  }
  if (near && m_phrase.count() > 0 && (count(rest) || value(rest))) {
    m_at = m_text.size() - rest.size();
    m_phrase.clear();
    m_gap = Gap::none;
    m_heading = Heading::none;
    m_level = m_counted = false;
    return;
  }
  rest = m_text.substr(m_at);
  const bool counts = take_number(rest) && rest.starts_with(' ');
  const auto label = m_label;
  skip_token();
  m_label = label;  // "best: 0.35" has its value
  m_counted = counts;
}

// After "12.3 ms", or in a sentence, the name stands alone: "loss". In "KL loss=0.1 recon loss=0.2" both words form the name.
bool SentenceReader::qualifies(std::string_view name) const {
  const auto is_other = [](std::string_view word) {
    const bool ends_sentence = word.ends_with('.') && !names_data(without_dot(word)) && !holds_outcome(word);
    return ends_sentence || joins(word) || belongs_to_sentence(word) || names_setting(word) ||
           !std::ranges::all_of(without_dot(word), belongs_to_word) || without_dot(word).find_first_of("./'@") != std::string_view::npos;
  };
  return m_phrase.count() > 0 && m_phrase.count() < most_words && !m_phrase.any(is_other) && (!m_counted || names_data(m_phrase.first())) &&
         m_phrase.size() + name.size() < longest_name;
}

// Prepends the preceding words to the name of a value that read_pairs has found here.
void SentenceReader::read_pair(std::size_t number) {
  constexpr std::array<std::string_view, 5> of_data{"data", "dataset", "images", "set", "split"};
  auto& name = m_line.metrics[number].name;
  const auto begin = m_line.pairs[number].begin, end = m_line.pairs[number].end;
  if (m_gap != Gap::none && m_gap != Gap::blank) end_phrase();
  if (begin < m_at) m_phrase.clear();  // within skipped text
  take_heading();
  auto kind = metric_kind(m_phrase.last(), name);
  // "Time cost=12.3", "target accuracy=0.95"
  const bool setting = m_phrase.count() > 0 && !m_counted && kind != MetricKind::none && names_setting(word_before(m_text, begin - 1));
  auto rest = m_text.substr(end);
  auto data = data_behind(rest);
  auto phrase = m_phrase;
  phrase.add(m_text.substr(begin, name.size()));
  const auto words = phrase.name_before_of();
  const auto first = m_phrase.first();
  const bool first_is_data = names_data(first) && (!m_counted || m_phrase.count() == 1);
  const bool sentence = begin > 0 && makes_sentence(word_before(m_text, begin - 1));
  const bool tolerance = sentence && (names_setting(name) || names_time_unit(name));  // "by less than tol=0.01", NeMo's "train_step_timing in s=1.1"
  if (tolerance) {
    name.clear();
  } else if (words != 0 && !phrase.data_behind().empty() &&
             (names_data(name) || std::ranges::find(of_data, name) != of_data.end())) {  // "MSE on train=0.1"
    take_data(data = phrase.data_behind());
    name = phrase.name(words);
  } else if (setting) {
    name.clear();
  } else if (name_after_heading(name, m_text.substr(begin, end - begin))) {
    kind = metric_kind(name);
  } else if (kind != MetricKind::none && qualifies(name)) {
    if (first_is_data) take_data(first);
    prepend(m_phrase.name(m_phrase.count()), name);
  }
  if (data.empty() && first_is_data) data = first;
  if (data.empty() && names_data(m_phrase.last()) && !m_phrase.any(belongs_to_sentence)) data = m_phrase.last();  // "Epoch 1 done. Eval loss=0.85"
  if (data.empty() && kind != MetricKind::rate && !m_unsaid) data = m_data;
  const auto before = m_phrase.any(holds_reference) || !holds_reference(m_label) ? label() : m_label;
  if (name.empty())
    m_dropped = true;
  else if (kind != MetricKind::rate && holds_reference(before) && !holds_reference(name))
    prepend(m_label = before, name);
  else if (!data.empty() && !holds_data(name))
    prepend(data, name);
  m_line.pairs[number].label = before;
  m_at = std::max(m_at, m_text.size() - rest.size());
  m_phrase.clear();
  m_gap = Gap::none;
  m_level = m_counted = false;
}

// "(n=100)" after a value, if none of it was read.
bool SentenceReader::skip_remark() {
  if (!has("([{", m_text[m_at]) || m_brackets.at(m_at + 1) == ValueBrackets::Reads::all || m_brackets.open() != m_at) return false;
  const auto close = m_brackets.close();
  const bool told = m_next_pair < m_line.pairs.size() && m_line.pairs[m_next_pair].begin < close;
  if (told || !has(m_text.substr(m_at, close - m_at), '=')) return false;
  m_at = std::min(close + 1, m_text.size());
  return true;
}

void SentenceReader::read_sign() {
  if (skip_remark()) return;
  const char c = m_text[m_at];
  const auto rest = m_text.substr(m_at);
  if (concludes_test(rest)) {
    ++m_at;
    end_phrase();
    return take_data("Test");
  }
  const bool cell = c == '|' || rest.starts_with(drawn_light) || rest.starts_with(drawn_heavy);
  m_at += cell && c != '|' ? drawn_light.size() : 1;
  if (is_blank(c)) {
    if (m_gap == Gap::none && m_phrase.count() > 0) m_gap = Gap::blank;
    return;
  }
  if (c == ',' && m_counted) m_phrase.clear();  // "8 train, 8 val images"
  if ((cell || c == ';') && m_phrase.count() == 0) m_label = {};
  m_level = m_level && c == ':' && m_phrase.count() == 1;
  m_counted = m_counted && m_phrase.count() > 0;
  const bool first = m_gap == Gap::none || m_gap == Gap::blank;
  const bool closes = c == ')' || c == ']';
  m_heads_all = m_heads_all && !cell && !closes && c != ';';
  if (c == ':' && first)
    m_gap = Gap::colon;
  else if (cell && first)
    m_gap = Gap::cell;
  else if (c == '[' || c == '(' || c == '#')
    m_gap = Gap::bracket;
  else if (c == '=' && first && !m_phrase.data_behind().empty())  // "Accuracy on the test set = 0.93"
    m_gap = Gap::colon;
  else if (c == '=' && first && (rest.starts_with("=  ") || (m_at > 2 && m_text.substr(m_at - 3, 2) == "  ")))
    m_gap = Gap::aligned;
  else {
    const auto label = m_label;
    end_phrase(!closes);            // not "AUC (macro): train=0.95"
    if (c == ')') m_label = label;  // "loss=0.3 (best) acc=0.9"
  }
  if (m_phrase.count() == 0) m_gap = Gap::none;
}

void SentenceReader::walk() {
  while (m_at < m_text.size()) {
    if (m_next_pair < m_line.pairs.size() && m_at >= m_line.pairs[m_next_pair].begin) {
      read_pair(m_next_pair++);
      continue;
    }
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
  while (m_next_pair < m_line.pairs.size()) read_pair(m_next_pair++);
  if (!m_dropped) return;
  const auto& metrics = m_line.metrics;
  std::erase_if(m_line.pairs, [&, at = std::size_t{0}](const auto&) mutable { return metrics[at++].name.empty(); });
  drop_value(m_line, "");
}

// Values of one name are of several things: each is named after its overlap, as in "IoU=0.50 AP=0.6 IoU=0.75 AP=0.4", or after the words before it.
// If these are the same, nothing tells which value is the current one, and none counts.
void SentenceReader::tell_apart() {
  auto& metrics = m_line.metrics;
  auto& pairs = m_line.pairs;
  if (metrics.size() > most_values || pairs.size() != metrics.size()) return;  // of more the last ones count
  std::bitset<most_values> several;
  for (std::size_t i = 0; i < metrics.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (metrics[i].name == metrics[j].name) several.set(i).set(j);
  bool overlaps = false;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (!several[i]) continue;
    auto& name = metrics[i].name;
    const auto overlap = m_text.rfind("IoU=", pairs[i].begin);
    if (overlap >= pairs[i].begin) {
      prepend(pairs[i].label, name);
      continue;
    }
    overlaps = true;
    const auto bound = m_text.substr(overlap + 4);
    name.append("@").append(bound.substr(0, bound.find_first_not_of("0123456789.:")));
    while (name.ends_with(':') || name.ends_with('@')) name.pop_back();
  }
  if (overlaps) drop_value(m_line, "IoU");
  for (std::size_t i = 0; i < metrics.size();) {
    const auto& [name, value, percentage] = metrics[i];
    if (std::ranges::any_of(metrics, [&](const Metric& other) { return other.name == name && is_other(other.value, value); }))
      drop_value(m_line, std::string(name));
    else
      ++i;
  }
}

bool SentenceReader::read() {
  auto& line = m_line;
  walk();
  // An uncertain value is accepted next to a certain one, next to another one of its kind, or in a line with an epoch or step.
  const bool placed = m_placed || line.epoch || line.step;
  const auto values = [&](MetricKind kind, bool sure) {
    return std::ranges::count_if(m_values, [&](const Value& each) { return each.kind >= kind && (sure ? each.sure : !each.whole); });
  };
  const bool trusted = placed || values(MetricKind::usual, true) > 0 || values(MetricKind::usual, false) > 1;
  const auto before = line.metrics.size();
  for (auto& each : m_values)
    if (each.if_known && (trusted || each.kind == MetricKind::result))
      line.if_known.push_back(std::move(each.metric));
    else if (!each.if_known && (trusted || each.sure))
      line.metrics.push_back(std::move(each.metric)), line.pairs.push_back(each.place);
  if (line.metrics.empty() && line.if_known.empty()) return false;
  if (!line.step) line.step = m_step;
  return line.metrics.size() > before || !line.if_known.empty();
}

}  // namespace

void name_pairs(std::string_view text, MetricLine& line) {
  if (line.pairs.empty()) return;
  SentenceReader reader(text, line);
  reader.walk();
  reader.tell_apart();
}

bool read_sentence(std::string_view text, MetricLine& line) {
  MetricLine place;
  read_bracketed_position(text, place);
  MetricLine found = line;
  if (!found.epoch) found.epoch = place.epoch;
  if (!found.step) found.step = place.step;
  SentenceReader reader(text, found);
  const bool any = reader.read();
  if (found.metrics.empty() && found.if_known.empty()) return line.metrics.clear(), line.pairs.clear(), any;
  reader.tell_apart();
  line = std::move(found);
  return any;
}

}  // namespace trainstep::result
