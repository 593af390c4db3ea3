// SPDX-License-Identifier: Apache-2.0
#include "data/yaml_scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/text.h"
#include "data/place.h"
#include "data/tree.h"

namespace trainstep {
namespace {

template <std::size_t N>
bool one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, text) != words.end();
}

constexpr std::array<std::string_view, 5> nulls{"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 3> truths{"true", "True", "TRUE"};
constexpr std::array<std::string_view, 3> falsehoods{"false", "False", "FALSE"};
constexpr std::array<std::string_view, 6> not_finite{".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"};

std::string_view without_sign(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text;
}

template <typename Integer>
std::optional<Json> integer(std::string_view digits, int base) {
  Integer value{};
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (code != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return Json(value);
}

// Stored as the JSON reader does: signed if negative, otherwise unsigned.
Result<Json> decimal(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  auto value = text.starts_with('-') ? integer<std::int64_t>(text, 10) : integer<std::uint64_t>(text, 10);
  if (!value) return input_error(big_integer_problem(text));
  return std::move(*value);
}

bool is_decimal(std::string_view text) {
  const auto digits = without_sign(text);
  return !digits.empty() && std::ranges::all_of(digits, is_digit) && (digits.size() == 1 || digits.front() != '0');
}

// [-+]? ( digits . digits? | . digits ) ( [eE] [-+] digits )?
bool is_float(std::string_view text) {
  text = without_sign(text);
  const auto take_digits = [&] {
    const auto count = static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
    text.remove_prefix(count);
    return count;
  };
  const auto whole = take_digits();
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  if (take_digits() + whole == 0) return false;
  if (text.empty()) return true;
  if (text.front() != 'e' && text.front() != 'E') return false;
  text.remove_prefix(1);
  if (without_sign(text).size() == text.size()) return false;
  text.remove_prefix(1);
  return take_digits() > 0 && text.empty();
}

// `text` must satisfy is_float or is_decimal. strtod, unlike from_chars, distinguishes overflow from underflow; this program never sets a locale.
Result<Json> floating(const std::string& text) {
  const auto value = std::strtod(text.c_str(), nullptr);
  if (!std::isfinite(value)) return input_error(fmt::format("number {} is too large", show_text(text)));
  if (value == 0 && !is_zero(text)) return input_error(fmt::format("number {} is too small", show_text(text)));
  return Json(value);
}

Json special(std::string_view text) {
  if (without_sign(text).substr(1, 1).find_first_of("nN") == 0) return std::numeric_limits<double>::quiet_NaN();
  return (text.starts_with('-') ? -1 : 1) * std::numeric_limits<double>::infinity();
}

}  // namespace

Result<Json> resolve_plain(const std::string& text, bool non_finite) {
  if (one_of(text, nulls)) return Json();
  if (one_of(text, truths)) return Json(true);
  if (one_of(text, falsehoods)) return Json(false);
  if (is_letter(text.front())) return Json(text);
  if (is_decimal(text)) return decimal(text);
  if (is_float(text)) return floating(text);
  if (one_of(without_sign(text), not_finite) && non_finite) return special(text);
  if (one_of(without_sign(text), not_finite))
    return input_error(fmt::format("{} is not a representable number; put it in quotes if it is a string", text));
  return Json(text);
}

Result<Json> resolve_tagged(std::string_view type, const std::string& text) {
  if (type == "str") return Json(text);
  const auto none_of_that = [&] { return input_error(fmt::format("{} is not a valid !!{}", show_text(text), type)); };
  if (type == "float" && (is_decimal(text) || is_float(text))) return floating(text);
  if (type == "int" || type == "bool" || type == "null") {
    ASSIGN(auto value, resolve_plain(text));
    const bool fits = type == "int" ? value.is_number_integer() : type == "bool" ? value.is_boolean() : value.is_null();
    if (!fits) return none_of_that();
    return value;
  }
  if (type == "float") return none_of_that();
  return input_error(fmt::format("unsupported tag !!{}", type));
}

}  // namespace trainstep
