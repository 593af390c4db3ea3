// SPDX-License-Identifier: Apache-2.0
#include "data/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/printable.h"

namespace trainstep {
namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// The length of the well-formed sequence that starts at `at`; 0 if there is none.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U; };
  const auto lead = byte(0);
  const auto in = [&](std::size_t i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
  const auto tail = [&](std::size_t i) { return in(i, 0x80, 0xBF); };
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool second = lead == 0xE0 ? in(1, 0xA0, 0xBF) : lead == 0xED ? in(1, 0x80, 0x9F) : tail(1);
    return second && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool second = lead == 0xF0 ? in(1, 0x90, 0xBF) : lead == 0xF4 ? in(1, 0x80, 0x8F) : tail(1);
    return second && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

std::string in_megabytes(std::size_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1048576.0); }

}  // namespace

std::string place_of(std::string_view text, std::size_t offset) {
  const auto before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto column = 1 + std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_start), before.end(), [](char c) { return !continues(c); });
  return fmt::format("line {}, column {}", line, column);
}

Error error_at(std::string_view what, std::string_view text, std::size_t offset, std::string_view problem) {
  return input_error(fmt::format("{}: {}: {}", what, place_of(text, offset), problem));
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t word = 0;
    while (at + sizeof word <= text.size()) {  // eight ASCII characters at a time
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & 0x8080808080808080U) != 0) break;
      at += sizeof word;
    }
    if (at == text.size()) break;
    const auto length = sequence_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

Result<void> check_path_text(std::string_view name, std::string_view path, std::string_view what) {
  if (!find_invalid_utf8(path)) return {};
  return input_error(fmt::format("{}: {} is not valid UTF-8, as required for {}; choose another one", name, printable(path), what));
}

Result<std::string_view> check_text(std::string_view text, std::string_view what, const ReadLimits& limits) {
  if (text.size() > limits.bytes)
    return input_error(fmt::format("{}: {} exceeds the limit of {}", what, in_megabytes(text.size()), in_megabytes(limits.bytes)));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (const auto at = find_invalid_utf8(text)) {
    const auto problem = fmt::format("byte 0x{:02X} is not valid UTF-8; save the text as UTF-8", static_cast<unsigned char>(text[*at]));
    return error_at(what, text, *at, problem);
  }
  if (const auto at = text.find('\0'); at != std::string_view::npos)
    return error_at(what, text, at, "NUL character; is this a binary file, or UTF-16?");
  return text;
}

std::string show_character(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return "the end of the input";
  const auto byte = static_cast<unsigned char>(text[offset]);
  if (byte < 0x20 || byte == 0x7F) return fmt::format("the control character U+{:04X}", byte);
  return fmt::format("'{}'", text.substr(offset, std::max<std::size_t>(sequence_length(text, offset), 1)));
}

std::string show_text(std::string_view text) {
  constexpr std::size_t longest = 60;
  const bool cut = text.size() > longest;
  if (cut) {
    auto length = longest;
    while (length > 0 && continues(text[length])) --length;
    text = text.substr(0, length);
  }
  std::string shown = "'";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      shown += c == '\n' ? "\\n" : fmt::format("\\x{:02x}", c);
    else
      shown += c;
  }
  return shown + (cut ? "…'" : "'");
}

}  // namespace trainstep
