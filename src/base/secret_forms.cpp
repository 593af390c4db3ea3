// SPDX-License-Identifier: Apache-2.0
#include "base/secret_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace trainstep {
namespace {

enum class Others { as_they_are, json, python, bytes };  // representation of non-ASCII characters

// The code point at `at`, which is advanced past it; for invalid UTF-8, the byte.
std::uint32_t take_code_point(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  std::uint32_t code = more == 0 ? first : first & (0x3FU >> static_cast<unsigned>(more));
  for (int i = 0; i < more && at < text.size(); ++i) code = (code << 6U) | (static_cast<unsigned char>(text[at++]) & 0x3FU);
  return code;
}

std::string beyond_ascii(std::string_view bytes, std::uint32_t code, Others others) {
  if (others == Others::as_they_are) return std::string(bytes);
  if (others == Others::python)
    return code < 0x100 ? fmt::format("\\x{:02x}", code) : code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
  if (others == Others::json && code < 0x10000) return fmt::format("\\u{:04x}", code);
  if (others == Others::json) return fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0U + (code >> 10U), 0xDC00U + (code & 0x3FFU));
  std::string shown;
  for (const char byte : bytes) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return shown;
}

// `quote`: the surrounding quote, which is escaped as well.
std::string escaped(std::string_view text, char quote, Others others) {
  constexpr std::string_view controls = "\n\r\t", letters = "nrt";
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = at;
    const auto code = take_code_point(text, at);
    const char c = text[begin];
    if (code >= 0x80)
      shown += beyond_ascii(text.substr(begin, at - begin), code, others);
    else if (const auto control = controls.find(c); control != std::string_view::npos)
      shown.append({'\\', letters[control]});
    else if (c == '\\' || c == quote)
      shown.append({'\\', c});
    else
      shown += c;
  }
  return shown;
}

std::string replaced(std::string_view text, char what, std::string_view by) {
  std::string shown;
  for (const char c : text) c == what ? shown.append(by) : shown.append(1, c);
  return shown;
}

// encoding/json of Go escapes what HTML would interpret.
std::string as_go_does(std::string_view json) { return replaced(replaced(replaced(json, '&', "\\u0026"), '<', "\\u003c"), '>', "\\u003e"); }

// \u00E4 instead of \u00e4.
std::string in_capitals(std::string json) {
  for (auto at = json.find("\\u"); at != std::string::npos; at = json.find("\\u", at + 2))
    for (auto i = at + 2; i < std::min(at + 6, json.size()); ++i)
      if (json[i] >= 'a' && json[i] <= 'f') json[i] = static_cast<char>(json[i] - 'a' + 'A');
  return json;
}

std::string percent_encoded(std::string_view text) {
  std::string shown;
  for (const char c : text) is_unreserved(c) ? shown.append(1, c) : shown.append(fmt::format("%{:02X}", static_cast<unsigned char>(c)));
  return shown;
}

std::string for_html(std::string_view text) {
  return replaced(replaced(replaced(replaced(replaced(text, '&', "&amp;"), '<', "&lt;"), '>', "&gt;"), '"', "&quot;"), '\'', "&#x27;");
}

}  // namespace

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("-_.~").find(c) != std::string_view::npos;
}

std::vector<std::string> written_forms(std::string_view text) {
  std::vector<std::string> forms;
  const auto add = [&](std::string form) {
    if (std::ranges::find(forms, form) == forms.end()) forms.push_back(std::move(form));
  };
  for (const auto part : {text, trim(text)}) {
    add(std::string(part));
    if (std::ranges::all_of(part, is_unreserved)) continue;
    for (const auto others : {Others::as_they_are, Others::json, Others::python, Others::bytes})
      for (const char quote : {'"', '\'', '\\'}) add(escaped(part, quote, others));
    for (const auto others : {Others::as_they_are, Others::json}) add(as_go_does(escaped(part, '"', others)));
    add(in_capitals(escaped(part, '"', Others::json)));
    add(percent_encoded(part));
    add(for_html(part));
    for (const std::string_view quote : {"'\"'\"'", "'\\''"}) add(replaced(part, '\'', quote));
  }
  return forms;
}

}  // namespace trainstep
