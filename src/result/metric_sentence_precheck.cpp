// SPDX-License-Identifier: Apache-2.0
#include "result/metric_sentence_precheck.h"

#include "result/metric_text.h"
#include "result/metric_words.h"
#include "result/sentence_separators.h"

namespace trainstep::result {
namespace {

bool may_be_named(std::string_view text, std::size_t number) {
  auto end = number;
  while (end > 0 && number - end <= max_gap && belongs_to_separator(text[end - 1])) --end;
  if (end == number || end == 0) return false;
  const auto word = word_before(text, end);
  if (word.empty() || !is_letter(word.front())) return false;
  if (may_end_name(word)) return true;
  const auto start = end - word.size();  // "loss train: 2.471"
  return start > 1 && text[start - 1] == ' ' && names_data(word) && metric_kind(word_before(text, start - 1)) >= MetricKind::usual;
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
  return value != std::string_view::npos && value - colon <= max_gap && has("0123456789.+-nNiI", text[value]) && may_be_named(text, value);
}

// "loss nan", "epoch 2 loss 1": without a point or a colon
bool may_be_number(std::string_view text) {
  for (auto at = text.find(' '); at != std::string_view::npos && at + 1 < text.size(); at = text.find(' ', at + 1)) {
    const auto next = text.substr(at + 1, 3);
    const bool number = is_digit(next.front()) || same_ignoring_case(next, "nan") || same_ignoring_case(next, "inf");
    if (number && may_be_named(text, at + 1)) return true;
  }
  return false;
}

// "mAP@[0.5:0.95]: 0.4": there is no word next to the bracket's end.
bool says_threshold(std::string_view text) {
  for (auto at = text.find('@', 1); at != std::string_view::npos; at = text.find('@', at + 1))
    if (is_letter(text[at - 1]) && threshold_size(text.substr(at)) != 0) return true;
  return false;
}

// "loss tensor(0.5, …)"
bool shows_scalar(std::string_view text) {
  const auto open = text.find('(', 1);
  if (open == std::string_view::npos) return false;
  auto begin = open;
  while (begin > 0 && open - begin < 14 && (belongs_to_name(text[begin - 1]))) --begin;
  return starts_with_tensor_repr(text.substr(begin)) && may_be_named(text, begin);
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

bool may_be_sentence(std::string_view line) {
  for (auto at = line.find('.', 1); at != std::string_view::npos && at + 1 < line.size(); at = line.find('.', at + 1))
    if (is_digit(line[at + 1]) && is_digit(line[at - 1]) && may_be_fraction(line, at)) return true;
  for (auto at = line.find(':'); at != std::string_view::npos; at = line.find(':', at + 1))
    if (may_be_labelled(line, at)) return true;
  return says_of_what(line) || (has(line, '@') && says_threshold(line)) || shows_scalar(line) || may_be_number(line);
}

}  // namespace trainstep::result
