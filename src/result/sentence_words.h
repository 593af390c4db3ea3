// Words of a log line that tell what kind of text it is. Those that name metrics, data and settings are in metric_words.h.
//   Start training from score 0.3          a sentence without metrics: "from" precedes the name
//   loss: None, accuracy: 0.9 and F1: 0.8  "None" is not part of a name, nor is "and"
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "result/metric_text.h"

namespace trainstep::result {

inline bool is_level(std::string_view word) {
  constexpr std::array<std::string_view, 6> levels{"DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL"};
  return std::ranges::find(levels, word) != levels.end();
}

// "number of nan iterations: 0" counts something else.
inline bool counts_others(std::string_view word) { return word == "of" || word == "per"; }

// "Start training from score 0.3" is a sentence, not a name.
inline bool makes_sentence(std::string_view word) {
  constexpr std::array<std::string_view, 8> words{"from", "to", "by", "with", "at", "than", "in", "after"};
  return std::ranges::find(words, word) != words.end();
}

// The same for "I am train loss=9".
inline bool belongs_to_sentence(std::string_view word) {
  constexpr std::array<std::string_view, 14> words{"a", "am", "and", "are", "but", "got", "has", "have", "i", "or", "that", "this", "was", "we"};
  return makes_sentence(word) || std::ranges::any_of(words, [&](std::string_view each) { return same_ignoring_case(word, each); });
}

// A word in place of a number: "loss: None".
inline bool is_no_number(std::string_view word) {
  constexpr std::array<std::string_view, 4> words{"n/a", "na", "none", "null"};
  return std::ranges::any_of(words, [&](std::string_view each) { return same_ignoring_case(word, each); });
}

// It separates two values: "train loss 0.5 vs val loss 0.6".
inline bool separates(std::string_view word) { return word == "vs" || word == "vs." || word == "versus"; }

// It joins two values: "accuracy: 0.91 and F1: 0.5".
inline bool continues(std::string_view word) { return word == "and" || word == "while"; }

}  // namespace trainstep::result
