// SPDX-License-Identifier: Apache-2.0
#include "result/sentence_reader.h"

#include <algorithm>

#include "base/text.h"
#include "result/metric_text.h"
#include "result/metric_words.h"
#include "result/named_value.h"
#include "result/sentence_words.h"

namespace trainstep::result {
namespace {

constexpr std::size_t longest_abbreviation = 6;  // "Avg." and "Valid." do not end a sentence

// "* Acc@1 69.8 Acc@5 89.1" concludes the test of PyTorch's imagenet example and those modeled on it.
bool concludes_test(std::string_view text) {
  if (!text.starts_with("* ")) return false;
  text.remove_prefix(std::min(text.find_first_not_of(' ', 1), text.size()));
  return text.starts_with("Acc@") || text.starts_with("Prec@");
}

// "(best)" at the start of a line, if `text` is the line up to the bracket's end.
bool is_leading_remark(std::string_view text) {
  if (text.size() > longest_name) return false;
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
    m_unsaid = true;
    m_level = true;
    return;
  }
  m_phrase.add(word);
  if (word.ends_with('.') && word.size() > longest_abbreviation) end_phrase();
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
void SentenceReader::end_phrase(bool heads) {
  if (names_data(m_phrase.first()))
    take_data(m_phrase.first(), m_level && m_phrase.count() == 1 && m_gap == Gap::colon);
  else if (const auto behind = m_phrase.data_behind(); m_gap == Gap::colon && !behind.empty())  // "Results on the test set: …"
    take_data(behind);
  m_label = label();
  if (heads) m_heading.take(m_phrase, m_gap, m_level, m_counted);
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

void SentenceReader::take_data(std::string_view word, bool unsaid) {
  m_data = word;
  m_unsaid = unsaid && starts_ignoring_case(word, "train");
}

// Skips what is neither word, value nor separator: times, versions, addresses.
void SentenceReader::skip_token() {
  while (m_at < m_text.size() && !is_blank(m_text[m_at]) && m_text[m_at] != ',' && m_text[m_at] != '|') ++m_at;
  end_phrase();
}

}  // namespace trainstep::result
