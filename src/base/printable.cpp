// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/text.h"

namespace trainstep {
namespace {

using Byte = unsigned char;

constexpr Byte escape = 0x1B;
constexpr Byte deleted = 0x7F;
constexpr Byte c1_lead = 0xC2;  // U+0080 to U+009F are encoded as C2 80 to C2 9F
constexpr std::string_view end_of_colours = "\033[0m";

bool is_control(Byte c) { return (c < 0x20 && c != '\t') || c == deleted; }

// Control characters except tab and line break, and the first byte of a C1 control. Returns 1 or 0.
Byte may_be_control(Byte c) {
  const auto below = static_cast<Byte>((c < 0x20) & (c != '\t') & (c != '\n'));
  return static_cast<Byte>(below | static_cast<Byte>(c == deleted) | static_cast<Byte>(c == c1_lead));
}

char32_t decoded(std::string_view character) {
  const auto first = static_cast<Byte>(character.front());
  if (character.size() == 1) return first;
  char32_t code = first & (0x7FU >> character.size());
  for (const char c : character.substr(1)) code = (code << 6U) | (static_cast<Byte>(c) & 0x3FU);
  return code;
}

bool is_c1(char32_t code) { return code >= 0x80 && code < 0xA0; }

// C1 controls, line and paragraph separators, bidirectional marks.
bool is_hidden(char32_t code) {
  return is_c1(code) || code == 0x2028 || code == 0x2029 || code == 0x061C || code == 0x200E || code == 0x200F ||
         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

void append_spelled(std::string& to, char c) {
  if (c == '\n')
    to += "\\n";
  else if (c == '\r')
    to += "\\r";
  else
    fmt::format_to(std::back_inserter(to), "\\x{:02x}", static_cast<Byte>(c));
}

bool is_colour(std::string_view sequence) {
  return sequence.size() >= 3 && sequence[1] == '[' && sequence.back() == 'm' && sequence.find_first_not_of("0123456789;:", 2) == sequence.size() - 1;
}

void append_without_controls(std::string& to, std::string_view text, bool colours) {
  bool coloured = false;
  while (!text.empty()) {
    const auto c = static_cast<Byte>(text.front());
    std::size_t taken = 1;
    if (c == escape) {
      taken = escape_sequence_length(text);
      if (const auto sequence = text.substr(0, taken); colours && is_colour(sequence)) {
        to += sequence;
        coloured = sequence != end_of_colours && sequence != "\033[m";
      }
    } else if (is_c1(c) && to.ends_with(static_cast<char>(c1_lead))) {  // also if bytes between the two were just dropped
      to.pop_back();
    } else if (!is_control(c)) {
      to += text.front();
    }
    text.remove_prefix(taken);
  }
  if (coloured) to += end_of_colours;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
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

std::size_t escape_sequence_length(std::string_view text) {
  if (text.size() < 2) return 1;
  std::size_t i = 2;
  if (text[1] == '[') {
    while (i < text.size() && static_cast<Byte>(text[i]) >= 0x20 && static_cast<Byte>(text[i]) < 0x40) ++i;
    return i < text.size() ? i + 1 : i;
  }
  if (text[1] != ']') return 2;
  while (i < text.size() && text[i] != '\a' && text[i] != '\n' && text[i] != '\033') ++i;
  if (i == text.size() || text[i] == '\n') return i;
  return text[i] == '\a' ? i + 1 : std::min(i + 2, text.size());
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto length = utf8_length(text);
    const auto character = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || is_control(static_cast<Byte>(text.front())))
      append_spelled(result, text.front());
    else if (const auto code = decoded(character); is_hidden(code))
      fmt::format_to(std::back_inserter(result), "\\u{:04x}", static_cast<std::uint32_t>(code));
    else
      result += character;
    text.remove_prefix(character.size());
  }
  return result;
}

// Hundreds of megabytes per second pass through here, nearly all of them plain: no branches, and blocks of a fixed size, so that the compiler can
// vectorise the loop.
bool is_plain(std::string_view lines) {
  constexpr std::size_t block = 64;
  const auto* bytes = reinterpret_cast<const Byte*>(lines.data());
  const auto* const end = bytes + lines.size();
  Byte found = 0;
  for (; end - bytes >= static_cast<std::ptrdiff_t>(block); bytes += block)
    for (std::size_t i = 0; i < block; ++i) found |= may_be_control(bytes[i]);
  for (; bytes != end; ++bytes) found |= may_be_control(*bytes);
  return found == 0;
}

std::string_view last_state(std::string_view line) {
  auto rest = line;
  while (!rest.empty()) {
    const auto before = rest.rfind('\r');
    const auto state = before == std::string_view::npos ? rest : rest.substr(before + 1);
    if (state.find_first_not_of(" \t") != std::string_view::npos || before == std::string_view::npos) return state;
    rest = rest.substr(0, before);
  }
  return rest;
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return c == '\t' || is_control(static_cast<Byte>(c)); });
}

std::string excerpt(std::string_view page) {
  constexpr std::size_t longest = 200;
  std::string result;
  for (const auto c : trim(page)) {
    const auto shown = has_control({&c, 1}) ? ' ' : c;
    if (shown != ' ' || (!result.empty() && result.back() != ' ')) result += shown;
    if (result.size() == longest) return printable(result) + "…";
  }
  return printable(result);
}

void append_shown(std::string& to, std::string_view line) { append_without_controls(to, last_state(line), true); }

std::string plain(std::string_view line) {
  std::string result;
  append_without_controls(result, last_state(line), false);
  return result;
}

}  // namespace trainstep
