// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "result/metric_text.h"
#include "result/metric_words.h"
#include "result/sentence_reader.h"
#include "result/sentence_words.h"

namespace trainstep::result {
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
  if (data.empty() && kind != MetricKind::rate && !m_unsaid) data = m_data;
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
  if (m_placed || m_line.epoch || m_line.step) return false;
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
  return m_phrase.count() > 0 && m_phrase.count() < most_words && !m_phrase.any(is_other) && (!m_counted || names_data(m_phrase.first())) &&
         m_phrase.size() + name.size() < longest_name;
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
