// Turns "unexpected token" into the likely mistake: Python's repr instead of JSON, an extra comma, a missing quote.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/redact.h"
#include "base/text.h"
#include "data/json_reader.h"
#include "data/place.h"

namespace trainstep {
namespace {

constexpr std::string_view whitespace = " \t\r\n";
constexpr std::string_view python_remark = "this looks like a Python dict; JSON needs double quotes, true, false and null: use json.dumps";

bool begins_word(char c) { return is_letter(c) || c == '_'; }

bool belongs_to_word(char c) { return begins_word(c) || is_digit(c) || c == '-' || c == '+' || c == '.'; }

std::size_t skip_blanks(std::string_view text, std::size_t at) { return std::min(text.find_first_not_of(whitespace, at), text.size()); }

std::string_view word_at(std::string_view text, std::size_t at) {
  const auto rest = text.substr(at);
  const auto end = std::ranges::find_if_not(rest, belongs_to_word);
  return rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
}

char last_visible_before(std::string_view text, std::size_t at) {
  const auto found = text.substr(0, at).find_last_not_of(whitespace);
  return found == std::string_view::npos ? '\0' : text[found];
}

bool is_surrogate(std::string_view digits) { return lower(digits.substr(0, 1)) == "d" && digits[1] >= '8'; }
bool is_high_surrogate(std::string_view digits) {
  return is_surrogate(digits) && std::string_view("89abAB").find(digits[1]) != std::string_view::npos;
}

// Characters beyond U+FFFF are written as two escapes; `at` is the offset of the first, which has four digits.
std::optional<std::string> diagnose_surrogate(std::string_view text, std::size_t at) {
  const auto digits = text.substr(at + 2, 4);
  if (!is_surrogate(digits)) return std::nullopt;
  const auto next = text.substr(at + 6, 6);
  const bool paired =
      is_high_surrogate(digits) && next.size() == 6 && next.starts_with("\\u") && is_surrogate(next.substr(2)) && !is_high_surrogate(next.substr(2));
  if (paired) return std::nullopt;
  return fmt::format("\\u{} is an unpaired surrogate; write the character itself", digits);
}

// What is wrong inside the string that starts at `start`; nullopt if it is well-formed.
std::optional<JsonDiagnosis> diagnose_string(std::string_view text, std::size_t start) {
  for (auto at = start + 1; at < text.size(); ++at) {
    const auto c = text[at];
    if (c == '"') return std::nullopt;
    if (c == '\n' || c == '\r') return JsonDiagnosis{at, "line break in a string: add the closing quote, or write the line break as \\n"};
    if (c == '\t') return JsonDiagnosis{at, "tab in a string; write \\t"};
    if (static_cast<unsigned char>(c) < 0x20) return JsonDiagnosis{at, fmt::format("{} in a string; write \\u{:04x}", show_character(text, at), c)};
    if (c != '\\') continue;
    const auto escaped = at + 1 < text.size() ? text[at + 1] : '\0';
    if (escaped == 'u') {
      const auto digits = text.substr(at + 2, 4);
      if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
        return JsonDiagnosis{at, "\\u requires four hexadecimal digits"};
      if (const auto problem = diagnose_surrogate(text, at)) return JsonDiagnosis{at, *problem};
      if (is_high_surrogate(digits)) at += 6;
    } else if (escaped != '\0' && std::string_view("\"\\/bfnrt").find(escaped) == std::string_view::npos) {
      return JsonDiagnosis{at, fmt::format("\\{} is not a valid JSON escape; write a backslash as \\\\", text.substr(at + 1, 1))};
    }
    ++at;
  }
  return JsonDiagnosis{start, "unterminated string"};
}

std::string bad_number(std::string_view word) {
  return fmt::format("{} is not a valid JSON number (no leading zeros or plus sign; digits on both sides of the decimal point)", show_text(word));
}

// -? (0 | [1-9] digits) (. digits)? ([eE] [-+]? digits)?
bool is_number(std::string_view word) {
  const auto take_digits = [&] {
    const auto count = static_cast<std::size_t>(std::ranges::find_if_not(word, is_digit) - word.begin());
    word.remove_prefix(count);
    return count;
  };
  const auto take = [&](std::string_view choices) {
    const bool found = !word.empty() && choices.find(word.front()) != std::string_view::npos;
    if (found) word.remove_prefix(1);
    return found;
  };
  take("-");
  const bool zero = word.starts_with('0');
  if (const auto count = take_digits(); count == 0 || (zero && count > 1)) return false;
  if (take(".") && take_digits() == 0) return false;
  if (!take("eE")) return word.empty();
  take("-+");
  return take_digits() > 0 && word.empty();
}

// The parser reads 01 as the number 0 with something after it; returns the start of such a word.
std::optional<std::size_t> bad_number_before(std::string_view text, std::size_t end) {
  auto at = std::min(end, text.size());
  while (at > 0 && belongs_to_word(text[at - 1])) --at;
  if (at == end || !(is_digit(text[at]) || text[at] == '-') || is_number(word_at(text, at))) return std::nullopt;
  return at;
}

// The name in double quotes before the colon that precedes `at`; empty if there is none.
std::string_view key_before(std::string_view text, std::size_t at) {
  const auto colon = text.substr(0, at).find_last_not_of(" \t\r\n");
  if (colon == std::string_view::npos || text[colon] != ':') return {};
  const auto close = text.substr(0, colon).rfind('"');
  if (close == std::string_view::npos || close == 0) return {};
  const auto open = text.substr(0, close).rfind('"');
  return open == std::string_view::npos ? std::string_view() : text.substr(open + 1, close - open - 1);
}

std::string diagnose_word(std::string_view text, std::size_t at, const JsonStop& stop, JsonFault& fault) {
  const auto word = word_at(text, at);
  fault = JsonFault::word;
  for (const auto& python : {"True", "False", "None"})
    if (word == python) return fmt::format("{} is Python syntax: {}", word, python_remark);
  for (const auto& other : {"NaN", "Infinity", "-Infinity", "nan", "inf", "-inf"})
    if (word == other) return fmt::format("{} is not a valid JSON number; write null or omit it", word);
  fault = JsonFault::grammar;
  if (is_digit(word.front()) || word.front() == '-' || word.front() == '+' || word.front() == '.') return bad_number(word);
  const auto before = last_visible_before(text, at);
  if (!stop.open.empty() && stop.open.back().bracket == '{' && (before == '{' || before == ','))
    return fmt::format("the key {} must be in double quotes", show_text(word));
  if (sounds_secret(key_before(text, at))) return "strings must be in double quotes";
  return fmt::format("the string {} must be in double quotes", show_text(word));
}

std::string diagnose_closing(std::string_view text, std::size_t at, const JsonStop& stop) {
  const auto c = text[at];
  if (last_visible_before(text, at) == ',') return fmt::format("trailing comma before {}; remove it", c);
  if (stop.after_key || last_visible_before(text, at) == ':') return "the preceding key has no value";
  const auto& open = stop.open.back();
  if ((open.bracket == '{') != (c == '}')) return fmt::format("the {} opened at {} cannot be closed by {}", open.bracket, place_of(text, open.at), c);
  return fmt::format("unexpected {}", c);
}

JsonDiagnosis diagnose_end(std::string_view text, const JsonStop& stop) {
  if (stop.open.empty()) return {text.size(), "empty; expected a JSON value"};
  const auto& open = stop.open.back();
  const auto* noun = open.bracket == '{' ? "object" : "list";
  return {text.size(), fmt::format("unexpected end: the {} opened at {} is not closed", noun, place_of(text, open.at))};
}

bool starts_value(char c) { return c == '"' || c == '{' || c == '[' || begins_word(c) || is_digit(c) || c == '-'; }

}  // namespace

JsonDiagnosis diagnose_json(std::string_view text, const JsonStop& stop) {
  if (const auto number = bad_number_before(text, stop.last_end)) return {*number, bad_number(word_at(text, *number))};
  auto at = skip_blanks(text, stop.last_end);
  const bool separated = at < text.size() && (text[at] == ',' || text[at] == ':') && (at + 1 < stop.position || at + 1 == text.size());
  if (separated) at = skip_blanks(text, at + 1);
  if (at >= text.size()) return diagnose_end(text, stop);
  const auto c = text[at];
  if (stop.complete) return {at, "unexpected text after the JSON value"};
  if (c == '"')
    if (const auto diagnosis = diagnose_string(text, at)) return *diagnosis;
  if (c == '\'') return {at, fmt::format("single quotes: {}", python_remark)};
  if (c == '/' || c == '#') return {at, "JSON does not allow comments"};
  if (text.substr(at).starts_with("\u201C") || text.substr(at).starts_with("\u201D"))
    return {at, "typographic quotes; JSON requires straight ones (\")"};
  if ((c == '}' || c == ']') && !stop.open.empty()) return {at, diagnose_closing(text, at, stop)};
  if (starts_value(c) && stop.after_key && !separated) return {at, "missing colon between key and value"};
  const auto before = last_visible_before(text, at);
  if (starts_value(c) && !stop.open.empty() && before != ',' && before != ':' && before != '{' && before != '[') return {at, "missing comma"};
  if (belongs_to_word(c)) {
    auto fault = JsonFault::grammar;
    auto problem = diagnose_word(text, at, stop, fault);
    return {at, std::move(problem), fault};
  }
  if (c == ',' || c == ':') return {at, fmt::format("missing value before the {}", c == ',' ? "comma" : "colon")};
  if (c == '"') return {at, "unexpected string"};
  return {at, fmt::format("unexpected {}", show_character(text, at))};
}

}  // namespace trainstep
