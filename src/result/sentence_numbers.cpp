// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/text.h"
#include "result/metric_text.h"
#include "result/metric_words.h"
#include "result/sentence_reader.h"
#include "result/sentence_words.h"

namespace trainstep::result {
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
  const bool named = starts_ignoring_case(rest, "nan") || starts_ignoring_case(rest, "inf") || begins_shown(rest);
  const bool expected = m_gap == Gap::colon || m_gap == Gap::arrow || (m_gap == Gap::blank && metric_kind(m_phrase.last()) != MetricKind::none);
  return named && expected && take_scalar(rest) && ends_value(rest);
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
    const auto name = m_phrase.name(m_phrase.is_of_part(words) ? m_phrase.count() : words);
    if (m_gap != Gap::colon || !store(name, metric_kind(m_phrase.word(words - 1)), *number, whole, data)) return false;
    if (!data.empty()) take_data(data);
    return true;
  }
  if (!m_phrase.fits()) return false;
  const auto data = data_behind(rest);
  return store(m_phrase.name(m_phrase.count()), metric_kind(m_phrase.before_last(), m_phrase.last()), *number, whole, data);
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
  if (kind == MetricKind::none || m_phrase.any(names_setting) || m_phrase.any(makes_sentence) || name.size() > longest_name) return false;
  const bool of_data = !data.empty() || m_phrase.any(holds_data);
  if (names_data(m_phrase.first()) && m_phrase.count() > 1) take_data(m_phrase.first());
  const bool titled = (m_gap == Gap::colon || m_gap == Gap::arrow) && !whole && is_upper(m_phrase.first().front());
  const bool known = of_data || !m_data.empty() || titled || (m_gap == Gap::cell && !whole) || m_gap == Gap::aligned || m_phrase.any(holds_outcome);
  if (!of_data && kind != MetricKind::rate) data = m_data;
  if (kind != MetricKind::rate && holds_reference(m_label) && !holds_reference(name))
    prepend_words(m_label, name);
  else if (!data.empty() && (!of_data || !holds_data(name)))
    prepend_words(data, name);
  if (m_values.size() < most_in_line)
    m_values.push_back({.metric = {std::move(name), number, false},
                        .place = {m_at, m_at, m_label},
                        .kind = kind,
                        .sure = !m_if_known && (kind == MetricKind::result || (kind == MetricKind::usual && known)),
                        .whole = whole,
                        .if_known = m_if_known});
  return true;
}

}  // namespace trainstep::result
