// SPDX-License-Identifier: Apache-2.0
#include "result/shown_line.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/text.h"
#include "result/rank_prefix.h"

namespace trainstep::result {
namespace {

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
bool has(std::string_view text, char c) { return !text.empty() && std::memchr(text.data(), c, text.size()) != nullptr; }

// "INFO:root:", as Python's logging.basicConfig begins its lines.
std::string_view without_level(std::string_view text) {
  constexpr std::array<std::string_view, 5> levels{"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};
  const auto first = text.substr(0, 10).find(':');
  if (first == std::string_view::npos || std::ranges::find(levels, text.substr(0, first)) == levels.end()) return text;
  const auto second = text.find(':', first + 1);
  if (second == std::string_view::npos || text.substr(first, second - first).find(' ') != std::string_view::npos) return text;
  return text.substr(second + 1);
}

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

// Bytes below the blank, which hardly a line has: sixteen at once, the last ones perhaps twice.
bool has_control(std::string_view text) {
  using Block [[gnu::vector_size(16)]] = std::uint8_t;
  using Halves [[gnu::vector_size(16)]] = std::uint64_t;
  if (text.size() < sizeof(Block)) return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < ' '; });
  Block least = Block{} + 0xFF;
  const auto look = [&](const char* at) {
    Block bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    least = bytes < least ? bytes : least;
  };
  const auto* const last = text.data() + text.size() - sizeof(Block);
  for (const auto* at = text.data(); at < last; at += sizeof(Block)) look(at);
  look(last);
  const auto found = Halves(Block(least < ' '));
  return (found[0] | found[1]) != 0;
}

// Of versions that were drawn over one another the last one with content.
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

std::string_view shown_line(std::string_view raw, std::string& clean) {
  auto text = raw;
  if (has_control(raw)) {
    text = last_drawn(raw);
    if (has(text, '\x1B')) {
      clean = without_escapes(text);
      text = clean;
    }
  }
  return without_level(split_rank_prefix(text).text);
}

}  // namespace trainstep::result
