// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace trainstep {
namespace {

std::string folded(std::string_view text) {
  auto result = lower(text);
  std::erase_if(result, [](char c) { return c == '_' || c == '-' || c == ' ' || c == '.'; });
  return result;
}

// Levenshtein distance, one row at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string lower(std::string_view text) {
  std::string result(text);
  for (auto& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n\f\v";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (auto at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  parts.push_back(text);
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string result;
  for (const auto& part : parts) {
    if (&part != parts.data()) result += separator;
    result += part;
  }
  return result;
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const auto wanted = folded(word.substr(0, 200));
  std::optional<std::string> best;
  auto best_distance = std::max<std::size_t>(wanted.size() / 3, 1) + 1;
  for (const auto& candidate : candidates) {
    if (const auto d = distance(wanted, folded(candidate)); d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace trainstep
