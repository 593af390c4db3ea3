// SPDX-License-Identifier: Apache-2.0
#include "result/clean_line.h"

#include <array>

#include "base/text.h"
#include "result/metric_text.h"
#include "result/rank_prefix.h"

namespace trainstep::result {
namespace {

std::string without_escapes(std::string_view text) {
  std::string clean;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1B') {
      clean += text[at];
      continue;
    }
    if (at + 1 >= text.size() || text[at + 1] != '[') continue;
    ++at;
    while (at + 1 < text.size() && !is_letter(text[++at])) {  // parameters, then one letter
    }
  }
  return clean;
}

// Of several versions drawn over each other, the last one that is not blank.
std::string_view last_drawn(std::string_view text) {
  if (!has(text, '\r') && !has(text, '\b')) return text;
  while (!text.empty()) {
    const auto at = text.find_last_of("\r\b");
    const auto version = at == std::string_view::npos ? text : text.substr(at + 1);
    if (at == std::string_view::npos || !trim(version).empty()) return version;
    text = text.substr(0, at);
  }
  return text;
}

}  // namespace

std::string_view clean_line(std::string_view raw, std::string& storage) {
  auto text = last_drawn(raw);
  if (has(text, '\x1B')) {
    storage = without_escapes(text);
    text = storage;
  }
  return split_rank_prefix(text).text;
}

std::string_view without_level(std::string_view text) {
  constexpr std::array<std::string_view, 5> levels{"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};
  const auto first = text.substr(0, 10).find(':');
  if (first == std::string_view::npos || !one_of(text.substr(0, first), levels)) return text;
  const auto second = text.find(':', first + 1);
  if (second == std::string_view::npos || text.substr(first, second - first).find(' ') != std::string_view::npos) return text;
  return text.substr(second + 1);
}

std::string_view without_process(std::string_view text) {
  if (!text.starts_with('[')) return text;
  const auto end = text.find_first_of("] ");
  if (end == std::string_view::npos || text[end] != ']') return text;
  const auto colon = text.rfind(':', end);
  const bool numbered = colon != std::string_view::npos && end - colon > 5 && text.find_first_not_of("0123456789", colon + 1) == end;
  return numbered ? text.substr(end + 1) : text;
}

}  // namespace trainstep::result
