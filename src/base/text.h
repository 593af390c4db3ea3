// Text functions that the standard library lacks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainstep {

// ASCII only.
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
inline bool is_letter(char c) { return is_upper(c) || (c >= 'a' && c <= 'z'); }
inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
// The result of trim() and split() refers to `text`. trim() removes blanks, tabs and line breaks; split() keeps empty parts.
std::string lower(std::string_view text);
std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// The candidate most similar to `word` (case and separators ignored, at most a third of the letters different); nullopt if none is similar.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace trainstep
