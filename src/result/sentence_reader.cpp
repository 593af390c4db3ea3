// SPDX-License-Identifier: Apache-2.0
#include "result/sentence_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/text.h"
#include "result/metric_text.h"
#include "result/metric_words.h"
#include "result/named_value.h"
#include "result/sentence_words.h"

namespace trainstep::result {
namespace {

constexpr std::size_t max_abbreviation_length = 6;  // "Avg." and "Valid." do not end a sentence

// "* Acc@1 69.8 Acc@5 89.1" concludes the test of PyTorch's imagenet example and those modeled on it.
bool concludes_test(std::string_view text) {
  if (!text.starts_with("* ")) return false;
  text.remove_prefix(std::min(text.find_first_not_of(' ', 1), text.size()));
  return text.starts_with("Acc@") || text.starts_with("Prec@");
}

// "(best)" at the start of a line, if `text` is the line up to the bracket's end.
bool is_leading_remark(std::string_view text) {
  if (text.size() > max_name_length) return false;
  text = trim(text);
  return text.starts_with('(') && text.find_first_of("()", 1) == text.size() - 1;
}

}  // namespace

SentenceReader::SentenceReader(std::string_view text, MetricLine& line) : m_text(text), m_line(line), m_brackets(text) {
  if (contains(text, "Saving dict for global step")) m_data = "eval";  // TensorFlow's Estimator, after an evaluation
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
    else if (belongs_to_word(c) && separator_of(m_text.substr(m_at)).gap != Gap::arrow)  // a hyphen may begin a word
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
    m_data_not_for_pairs = true;
    m_level = true;
    return;
  }
  m_phrase.add(word);
  if (word.ends_with('.') && word.size() > max_abbreviation_length) end_phrase();
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
  const auto [sign, gap] = separator_of(rest);
  m_at += sign.size();
  if (gap == Gap::blank) {
    if (m_gap == Gap::none && m_phrase.count() > 0) m_gap = Gap::blank;
    return;
  }
  if (c == ',' && m_counted) m_phrase.clear();  // "8 train, 8 val images"
  const bool cell = gap == Gap::cell;
  if ((cell || c == ';') && m_phrase.count() == 0) m_label = {};
  if (cell || c == ';') m_measured = {};
  m_level = m_level && c == ':' && m_phrase.count() == 1;
  m_counted = m_counted && m_phrase.count() > 0;
  const bool first = m_gap == Gap::none || m_gap == Gap::blank;
  const bool closes = c == ')' || c == ']';
  if (cell || closes || c == ';') m_heading.narrow();
  if (gap == Gap::bracket || (first && (gap == Gap::colon || gap == Gap::arrow || cell)))
    m_gap = gap;
  else if (first && gap == Gap::aligned && !m_phrase.data_behind().empty())  // "Accuracy on the test set = 0.93"
    m_gap = Gap::colon;
  else if (first && gap == Gap::aligned && (rest.starts_with("=  ") || (m_at > 2 && m_text.substr(m_at - 3, 2) == "  ")))
    m_gap = gap;
  else {
    const auto label = m_label;
    end_phrase(!closes);  // not "AUC (macro): train=0.95"
    // In "loss=0.3 (best) acc=0.9" the remark is about the loss; in "(best) loss=0.3 acc=0.9" it is about all.
    if (c == ')' && !(is_leading_remark(m_text.substr(0, m_at)) && holds_reference(m_label))) m_label = label;
  }
  if (m_phrase.count() == 0) m_gap = Gap::none;
}

// Ends a phrase that has no value.
void SentenceReader::end_phrase(bool may_be_heading) {
  if (names_data(m_phrase.first()))
    take_data(m_phrase.first(), m_level && m_phrase.count() == 1 && m_gap == Gap::colon);
  else if (const auto behind = m_phrase.data_behind(); m_gap == Gap::colon && !behind.empty())  // "Results on the test set: …"
    take_data(behind);
  m_label = label();
  if (may_be_heading) m_heading.take(m_phrase, m_gap, m_level, m_counted);
  begin_phrase();
}

void SentenceReader::begin_phrase() {
  m_phrase.clear();
  m_gap = Gap::none;
  m_level = m_counted = false;
}

// The words of the phrase as written in the line; for a sentence or a count only "best" and the like; without a phrase the last label.
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

void SentenceReader::take_data(std::string_view word, bool not_for_pairs) {
  m_data = word;
  m_data_not_for_pairs = not_for_pairs && starts_ignoring_case(word, "train");
}

// Skips what is neither word, value nor separator: times, versions, addresses.
void SentenceReader::skip_token() {
  while (m_at < m_text.size() && !is_blank(m_text[m_at]) && m_text[m_at] != ',' && m_text[m_at] != '|') ++m_at;
  end_phrase();
}

namespace {

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

}  // namespace

bool SentenceReader::begins_number() const {
  auto at = m_at;
  if (m_text[at] == '-' || m_text[at] == '+') ++at;
  if (at < m_text.size() && m_text[at] == '.') ++at;
  if (at < m_text.size() && is_digit(m_text[at])) return true;
  auto rest = m_text.substr(at);
  const bool named = starts_ignoring_case(rest, "nan") || starts_ignoring_case(rest, "inf") || starts_with_tensor_repr(rest);
  const bool expected = m_gap == Gap::colon || m_gap == Gap::arrow || (m_gap == Gap::blank && metric_kind(m_phrase.last()) != MetricKind::none);
  return named && expected && take_scalar(rest) && ends_value(rest);
}

void SentenceReader::read_number() {
  auto rest = m_text.substr(m_at);
  const bool near = m_at - m_gap_from <= max_gap;
  if (m_phrase.name_before_of() != 0 && m_gap == Gap::blank) {  // "on the 10000 test images"
    if (take_number(rest)) m_at = m_text.size() - rest.size();
    return m_phrase.add_number();
  }
  if (m_phrase.count() == 0 || m_gap == Gap::bracket) {  // "[   64/60000]", "Test: [  0/196]"
    auto of = rest;
    m_partial = m_partial || (take_count(of) && of.starts_with('/') && of.size() > 1 && is_digit(of[1]));
    m_has_position = m_has_position || (m_partial && m_phrase.count() == 0);
  }
  if (near && m_phrase.count() > 0 && (read_position(rest) || read_value(rest))) {
    m_at = m_text.size() - rest.size();
    m_heading.end();
    return begin_phrase();
  }
  rest = m_text.substr(m_at);
  const bool counts = take_number(rest) && rest.starts_with(' ');
  const auto label = m_label;
  skip_token();
  m_label = label;  // "best: 0.35" has its value
  m_counted = counts;
}

// "Step [100/600]", "iteration   10/   100 |", "iter 10:", "Epoch: 3".
bool SentenceReader::read_position(std::string_view& rest) {
  const auto last = m_phrase.last();
  const bool epoch = same_ignoring_case(last, "epoch");
  if (!m_phrase.fits() || m_phrase.any(counts_others) || (!epoch && !names_step(last))) return false;
  const auto number = epoch ? take_count(rest) : take_long_count(rest);
  if (!number || (!rest.empty() && (is_letter(rest.front()) || rest.front() == '.'))) return false;
  if (!epoch && !m_step) m_step = number;
  m_has_position = true;
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

// "loss: 0.31", "Acc 91.2%", "accuracy: 9825/10000", "val_loss: 0.5 -> 0.4".
bool SentenceReader::read_value(std::string_view& rest) {
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
    const auto name = m_phrase.name(m_phrase.belongs_to_part(words) ? m_phrase.count() : words);
    if (m_gap != Gap::colon || !store(name, metric_kind(m_phrase.word(words - 1)), *number, whole, data)) return false;
    if (!data.empty()) take_data(data);
    return true;
  }
  if (!m_phrase.fits()) return false;
  if (m_gap == Gap::colon && names_data(m_phrase.last())) return store_of_data(*number, whole);
  m_measured = {};
  const auto data = data_behind(rest);
  return store(m_phrase.name(m_phrase.count()), metric_kind(m_phrase.before_last(), m_phrase.last()), *number, whole, data);
}

// "loss train: 2.471, val: 1.456"
bool SentenceReader::store_of_data(double number, bool whole) {
  const auto count = m_phrase.count();
  if (whole || count > 2) return false;
  if (count == 2) m_measured = metric_kind(m_phrase.first()) >= MetricKind::usual ? m_phrase.first() : std::string_view();
  return !m_measured.empty() && store(plain_name(m_measured), metric_kind(m_measured), number, whole, m_phrase.last());
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
bool SentenceReader::store(std::string name, MetricKind kind, double number, bool whole, std::string_view data) {
  if (kind == MetricKind::none || m_phrase.any(names_setting) || m_phrase.any(makes_sentence) || name.size() > max_name_length) return false;
  const bool of_data = !data.empty() || m_phrase.any(holds_data);
  if (names_data(m_phrase.first()) && m_phrase.count() > 1) take_data(m_phrase.first());
  const bool titled = (m_gap == Gap::colon || m_gap == Gap::arrow) && !whole && is_upper(m_phrase.first().front());
  const bool known = of_data || !m_data.empty() || titled || (m_gap == Gap::cell && !whole) || m_gap == Gap::aligned || m_phrase.any(holds_outcome);
  if (!of_data && kind != MetricKind::rate) data = m_data;
  if (kind != MetricKind::rate && holds_reference(m_label) && !holds_reference(name))
    prepend_words(m_label, name);
  else if (!data.empty() && (!of_data || !holds_data(name)))
    prepend_words(data, name);
  if (m_values.size() < max_in_line)
    m_values.push_back({.metric = {std::move(name), number, false},
                        .place = {m_at, m_at, m_label},
                        .kind = kind,
                        .sure = !m_if_known && (kind == MetricKind::result || (kind == MetricKind::usual && known)),
                        .whole = whole,
                        .if_known = m_if_known});
  return true;
}

namespace {

// "best" of "best_epoch"; empty: not the position of a reference.
std::string_view reference_of(std::string_view position) {
  const auto sign = std::min(position.find_last_of("_-./"), position.size());
  const auto last = position.substr(std::min(sign + 1, position.size()));
  const bool counts = same_ignoring_case(last, "epoch") || names_step(last);
  return counts && holds_reference(position.substr(0, sign)) ? position.substr(0, sign) : std::string_view();
}

}  // namespace

// Prepends the preceding words to the name of a value that read_pairs has found here.
void SentenceReader::read_pair(std::size_t number) {
  constexpr std::array<std::string_view, 5> of_data{"data", "dataset", "images", "set", "split"};
  auto& name = m_line.metrics[number].name;
  const auto begin = m_line.pairs[number].begin, end = m_line.pairs[number].end;
  const auto printed = m_text.substr(begin, name.size());
  if (m_gap != Gap::none && m_gap != Gap::blank) end_phrase();
  if (begin < m_at) m_phrase.clear();  // within skipped text
  m_heading.take(m_phrase, m_gap, m_level, m_counted);
  auto kind = metric_kind(m_phrase.last(), name);
  // "Time cost=12.3", "target accuracy=0.95"
  const bool setting = m_phrase.count() > 0 && !m_counted && kind != MetricKind::none && names_setting(word_before(m_text, begin - 1));
  auto rest = m_text.substr(end);
  auto data = data_behind(rest);
  auto phrase = m_phrase;
  phrase.add(printed);
  const auto words = phrase.name_before_of();
  const auto first = m_phrase.first();
  const bool first_is_data = names_data(first) && (!m_counted || m_phrase.count() == 1);
  const bool sentence = begin > 0 && makes_sentence(word_before(m_text, begin - 1));
  const bool tolerance = sentence && (names_setting(name) || names_time_unit(name));  // "by less than tol=0.01", NeMo's "train_step_timing in s=1.1"
  // "not improved from acc=0.7": an earlier value
  const bool earlier = kind != MetricKind::none && !holds_reference(name) && begin > 0 && word_before(m_text, begin - 1) == "from";
  if (tolerance || earlier) {
    name.clear();
  } else if (words != 0 && !phrase.data_behind().empty() &&
             (names_data(name) || std::ranges::find(of_data, name) != of_data.end())) {  // "MSE on train=0.1"
    take_data(data = phrase.data_behind());
    name = phrase.name(words);
  } else if (setting) {
    name.clear();
  } else if (m_heading.complete(name, m_text.substr(begin, end - begin))) {
    kind = metric_kind(name);
  } else if (kind != MetricKind::none && extends(name)) {
    if (first_is_data) take_data(first);
    prepend_words(m_phrase.name(m_phrase.count()), name);
  }
  if (data.empty() && first_is_data) data = first;
  if (data.empty() && names_data(m_phrase.last()) && !m_phrase.any(belongs_to_sentence)) data = m_phrase.last();  // "Epoch 1 done. Eval loss=0.85"
  if (data.empty() && kind != MetricKind::rate && !m_data_not_for_pairs) data = m_data;
  const auto before = m_phrase.any(holds_reference) || !holds_reference(m_label) ? label() : m_label;
  if (name.empty())
    m_dropped = true;
  else if (kind != MetricKind::rate && holds_reference(before) && !holds_reference(name))
    prepend_words(m_label = before, name);
  else if (!data.empty() && !holds_data(name))
    prepend_words(data, name);
  m_line.pairs[number].label = before;
  if (const auto reference = reference_of(printed); !reference.empty() && tells_only_best(number))
    m_label = reference, m_counts_label = true;  // "best_epoch=3 val_loss=0.2"
  m_at = std::max(m_at, m_text.size() - rest.size());
  begin_phrase();
}

// Whether the line has neither a position of its own nor other values with "best" and the like in their names, beside which the rest are current.
bool SentenceReader::tells_only_best(std::size_t number) const {
  if (m_has_position || m_line.epoch || m_line.step) return false;
  for (std::size_t i = 0; i < m_line.pairs.size(); ++i)
    if (i != number && holds_reference(m_line.metrics[i].name)) return false;
  return true;
}

// After "12.3 ms", or in a sentence, the name stands alone: "loss". In "KL loss=0.1 recon loss=0.2" both words form the name.
bool SentenceReader::extends(std::string_view name) const {
  const auto is_other = [](std::string_view word) {
    const bool ends_sentence = word.ends_with('.') && !names_data(without_dot(word)) && !holds_outcome(word);
    return ends_sentence || joins(word) || belongs_to_sentence(word) || names_setting(word) ||
           !std::ranges::all_of(without_dot(word), belongs_to_word) || without_dot(word).find_first_of("./'@") != std::string_view::npos;
  };
  return m_phrase.count() > 0 && m_phrase.count() < max_words && !m_phrase.any(is_other) && (!m_counted || names_data(m_phrase.first())) &&
         m_phrase.size() + name.size() < max_name_length;
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

}  // namespace trainstep::result
