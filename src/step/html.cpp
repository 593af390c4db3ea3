// SPDX-License-Identifier: Apache-2.0
#include "step/html.h"

#include <cstddef>

#include "base/printable.h"

namespace trainstep::step {
namespace {

using Byte = unsigned char;

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
      taken = escape_sequence_length(text);
    } else if (const auto length = utf8_length(text); length == 0) {
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
