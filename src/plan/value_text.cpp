// SPDX-License-Identifier: Apache-2.0
#include "plan/value_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "data/finite.h"
#include "data/python_json.h"
#include "spec/values.h"

namespace trainstep::plan {
namespace {

// The shortest digits that parse back to the same number: 0.00012 is {false, "12", -4}: 1.2 × 10⁻⁴.
struct Decimal {
  bool negative = false;
  std::string digits;
  int exponent = 0;
};

Decimal shortest(double number) {
  const auto text = fmt::format("{}", std::abs(number));  // std::to_chars has tables of 136 KB
  const auto e = std::min(text.find('e'), text.size());
  const auto point = std::min(text.find('.'), e);
  Decimal decimal{.negative = std::signbit(number), .digits = text.substr(0, point), .exponent = 0};
  if (point < e) decimal.digits += text.substr(point + 1, e - point - 1);
  auto& digits = decimal.digits;
  const auto zeros = std::min(digits.find_first_not_of('0'), digits.size() - 1);
  digits.erase(0, zeros);
  while (digits.size() > 1 && digits.ends_with('0')) digits.pop_back();
  if (digits == "0") return decimal;
  if (e < text.size()) decimal.exponent = std::atoi(text.c_str() + e + 1);
  decimal.exponent += static_cast<int>(point) - 1 - static_cast<int>(zeros);
  return decimal;
}

// 0.00012, 1200, 1.5: never an exponent.
std::string positional(const Decimal& decimal) {
  const auto count = static_cast<int>(decimal.digits.size());
  const auto& digits = decimal.digits;
  std::string text = decimal.negative ? "-" : "";
  if (decimal.exponent < 0) return text + "0." + std::string(static_cast<std::size_t>(-decimal.exponent - 1), '0') + digits;
  const auto whole = decimal.exponent + 1;
  if (count <= whole) return text + digits + std::string(static_cast<std::size_t>(whole - count), '0');
  return text + digits.substr(0, static_cast<std::size_t>(whole)) + "." + digits.substr(static_cast<std::size_t>(whole));
}

// Readable by float() of any language.
std::string special(double number) { return std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf"; }

// Python's repr(float): an exponent below 1e-4 and from 1e16 on, otherwise always with a decimal point.
std::string python_float(double number) {
  if (!std::isfinite(number)) return special(number);
  const auto decimal = shortest(number);
  if (decimal.exponent < -4 || decimal.exponent >= 16) {
    const auto fraction = decimal.digits.size() > 1 ? "." + decimal.digits.substr(1) : std::string();
    return fmt::format("{}{}{}e{}{:02}", decimal.negative ? "-" : "", decimal.digits[0], fraction, decimal.exponent < 0 ? '-' : '+',
                       std::abs(decimal.exponent));
  }
  auto text = positional(decimal);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

// json.dumps(value, sort_keys=True)
void python_json(const Json& value, std::string& out) {
  if (value.is_object()) {
    std::vector<std::pair<std::string_view, const Json*>> members;
    for (const auto& [key, member] : value.items()) members.emplace_back(key, &member);
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    out += '{';
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out += ", ";
      python_json(Json(members[i].first), out);
      out += ": ";
      python_json(*members[i].second, out);
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ", ";
      python_json(value[i], out);
    }
    out += ']';
  } else if (value.is_number_float()) {
    out += all_finite(value) ? python_float(value.get<double>()) : to_python_text(value);
  } else {
    out += value.dump(-1, ' ', true, Json::error_handler_t::replace);
  }
}

std::string python_text(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_number_float()) return python_float(value.get<double>());
  std::string text;
  python_json(value, text);
  return text;
}

}  // namespace

std::string value_text(const Json& value, spec::Dialect dialect) {
  if (value.is_string()) return value.get<std::string>();
  if (dialect == spec::Dialect::v1) return python_text(value);
  if (value.is_number_float()) return all_finite(value) ? positional(shortest(value.get<double>())) : special(value.get<double>());
  return to_python_text(spec::with_whole_numbers(value));
}

}  // namespace trainstep::plan
