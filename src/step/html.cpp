// SPDX-License-Identifier: Apache-2.0
#include "step/html.h"

#include <cstddef>

namespace trainstep::step {
namespace {

using Byte = unsigned char;

// The length of the UTF-8 character at the front; 0: it is none.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<Byte>(text.front());
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 && first <= 0xF4 ? 4 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xC2 && first < 0xE0 ? 2 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<Byte>(text[i]) & 0xC0U) != 0x80U) return 0;
  const auto second = static_cast<Byte>(text[1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool beyond = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);  // surrogates, above U+10FFFF
  return overlong || beyond ? 0 : length;
}

// How many bytes a terminal's escape sequence at the front takes: ESC [ … letter, ESC ] … BEL, or ESC and one more.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return 1;
  std::size_t i = 2;
  if (text[1] == '[') {
    while (i < text.size() && static_cast<Byte>(text[i]) >= 0x20 && static_cast<Byte>(text[i]) < 0x40) ++i;
    return i < text.size() ? i + 1 : i;
  }
  if (text[1] != ']') return 2;
  while (i < text.size() && text[i] != '\a' && text[i] != '\n') ++i;
  return i < text.size() && text[i] == '\a' ? i + 1 : i;
}

void append_escaped(std::string& result, std::string_view character) {
  switch (character.front()) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    case '\'':
      result += "&#39;";
      break;
    default:
      result += character;
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    std::size_t taken = 1;
    const auto c = static_cast<Byte>(text.front());
    if (c == 0x1B) {
      taken = escape_length(text);
    } else if (const auto length = character_length(text); length == 0) {
      result += "\xEF\xBF\xBD";
    } else if (c >= 0x20 ? c != 0x7F : c == '\n' || c == '\t') {
      taken = length;
      append_escaped(result, text.substr(0, length));
    }
    text.remove_prefix(taken);
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  auto end = most;
  while (end > 0 && (static_cast<Byte>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace trainstep::step
