// Shared by the parsers of metric lines: letters, names, numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"

namespace trainstep::result {

inline constexpr std::size_t max_name_length = 100;
inline constexpr std::size_t max_in_line = 100;  // values
inline constexpr std::size_t max_gap = 60;       // between a word and its value, as in a table

inline bool belongs_to_name(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '-' || c == '/'; }
inline bool belongs_to_word(char c) { return belongs_to_name(c) || c == '@' || c == '\''; }
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
inline char lower_letter(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

inline bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= max_name_length && is_letter(name.front()) && std::ranges::all_of(name, belongs_to_name);
}

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

// The word that ends at `end`, whether or not it is a name; the last max_name_length bytes of a longer one.
std::string_view word_before(std::string_view text, std::size_t end);

// "tensor(0.5, …)" and the like, as read by take_scalar().
bool starts_with_tensor_repr(std::string_view text);

// The size of a suffix at the start of `text` that gives the rank or overlap at which a metric was measured: "@5", "@0.5", "@0.5:0.95", "@50-95",
// "@[IoU=0.50:0.95]"; 0: there is none. In "@1:76.1" only "@1" is one: 76.1 is the value.
std::size_t threshold_size(std::string_view text);

// If the word that ends at `end` ends in such a number, the end of the range that starts with it: "mAP_0.5:0.95", "mAP50:95"; else `end`.
std::size_t range_end(std::string_view text, std::size_t end);

// A name, optionally with a threshold or range: "mAP@0.5:0.95".
bool is_measured_name(std::string_view name);

// The usual form: "mAP@[IoU=0.5:0.95]" becomes mAP@0.5:0.95.
std::string plain_name(std::string_view name);

// Puts the words, joined by underscores, before the name, unless it gets too long.
void prepend_words(std::string_view words, std::string& name);

// Uses memchr, because lines are long and most contain none.
inline bool has(std::string_view text, char c) { return !text.empty() && std::memchr(text.data(), c, text.size()) != nullptr; }

// `word` is in lower case. Does not copy: called for each equals sign of a log.
inline bool starts_ignoring_case(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(), [](char w, char c) { return w == lower_letter(c); });
}

inline bool same_ignoring_case(std::string_view text, std::string_view word) {
  return text.size() == word.size() && starts_ignoring_case(text, word);
}

// A number as programs print it: 3, +0.5, 1e-3, nan, -inf, Infinity. Consumes it from the front of `text`.
std::optional<double> take_number(std::string_view& text);

// A number, also with thousands separators if it has decimals, 1,234.5, or a scalar as NumPy, PyTorch and JAX print it: np.float64(0.5), tensor(0.5,
// device='cuda:0'), Array(0.5, dtype=float32).
std::optional<double> take_scalar(std::string_view& text);

// In "0.5 -> 0.4" the second number is the value: if `text`, what follows a number, says so, consumes it and sets `value`.
void skip_to_latest(std::string_view& text, double& value);

// A non-negative integer. Consumes it from the front of `text`.
std::optional<double> take_count(std::string_view& text);

// The same with thousands separators: "9,500".
std::optional<double> take_long_count(std::string_view& text);

// Whether `rest`, the text after a number, lets the number be a value: not in 1,234, 1.2.3, 10MB, 12:30, 10 ms, 0.5 * x. A deviation does:
// 0.5±0.1, 0.5+/-0.1; and a progress bar: "0.5: 100%|".
bool ends_value(std::string_view rest);

}  // namespace trainstep::result
