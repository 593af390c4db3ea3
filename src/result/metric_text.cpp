// SPDX-License-Identifier: Apache-2.0
#include "result/metric_text.h"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <string>

namespace trainstep::result {

std::optional<double> take_number(std::string_view& text) {
  auto rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  double value = 0;
  if (!rest.empty() && (is_digit(rest.front()) || rest.front() == '.')) {
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (code == std::errc::invalid_argument) return std::nullopt;
    if (code == std::errc::result_out_of_range) value = std::strtod(std::string(rest.begin(), end).c_str(), nullptr);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  } else if (starts_ignoring_case(rest, "nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
    rest.remove_prefix(3);
  } else if (starts_ignoring_case(rest, "inf")) {
    value = std::numeric_limits<double>::infinity();
    rest.remove_prefix(starts_ignoring_case(rest, "infinity") ? 8 : 3);
  } else {
    return std::nullopt;
  }
  text = rest;
  return negative ? -value : value;
}

std::optional<double> take_count(std::string_view& text) {
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > 15) return std::nullopt;
  auto count = text.substr(0, digits);
  text.remove_prefix(digits);
  return take_number(count);
}

bool ends_value(std::string_view rest) {
  if (rest.starts_with('%')) rest.remove_prefix(1);
  if (rest.starts_with('.')) rest.remove_prefix(1);                                 // the end of a sentence
  if (rest.starts_with(',') && rest.size() > 1 && is_digit(rest[1])) return false;  // 1,234.5: not the number 1
  return rest.empty() || std::string_view(" \t,;|)]}").find(rest.front()) != std::string_view::npos;
}

}  // namespace trainstep::result
