// SPDX-License-Identifier: Apache-2.0
#include "plan/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace trainstep::plan {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 15> units{{{"", 1},
                                                                     {"n", 1e-9},
                                                                     {"u", 1e-6},
                                                                     {"m", 1e-3},
                                                                     {"k", 1e3},
                                                                     {"M", 1e6},
                                                                     {"G", 1e9},
                                                                     {"T", 1e12},
                                                                     {"P", 1e15},
                                                                     {"Ki", 0x1p10},
                                                                     {"Mi", 0x1p20},
                                                                     {"Gi", 0x1p30},
                                                                     {"Ti", 0x1p40},
                                                                     {"Pi", 0x1p50},
                                                                     {"Ei", 0x1p60}}};

Error not_a_quantity(std::string_view text, std::string_view what) {
  return input_error(
      fmt::format("{}: \"{}\" is not a valid quantity; write a number with a unit such as 500m (half a core), 8, 512Mi or 32Gi", what, text));
}

// "1GB", "32gb", "512MB", "4GiB": common spellings that Kubernetes rejects.
std::string suggestion(std::string_view number, std::string_view unit) {
  if (unit.empty()) return {};
  const auto letter = lower(unit).front();
  if (std::string_view("kmgtpe").find(letter) == std::string_view::npos) return {};
  const auto rest = lower(unit.substr(1));
  if (rest != "b" && rest != "ib" && rest != "i" && !rest.empty()) return {};
  const auto upper = static_cast<char>(letter - 'a' + 'A');
  return fmt::format("write {0}{1}i (powers of 1024) or {0}{2} (powers of 1000)", number, upper, letter == 'k' ? 'k' : upper);
}

}  // namespace

Result<Quantity> parse_quantity(std::string_view text, std::string_view what) {
  const auto trimmed = trim(text);
  constexpr std::size_t longest = 64;
  if (trimmed.size() > longest) return not_a_quantity(std::string(trimmed.substr(0, longest)) + "…", what);
  double number = 0;
  // from_chars also parses exponents; a plain "E" (exa) is not taken for one, because an exponent needs digits.
  const auto [end, code] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  if (code != std::errc{} || !std::isfinite(number)) return not_a_quantity(text, what);
  const std::string_view unit(end, static_cast<std::size_t>(trimmed.data() + trimmed.size() - end));
  const auto written = trimmed.substr(0, trimmed.size() - unit.size());
  if (!unit.empty() && written.find_first_of("eE") != std::string_view::npos)
    return input_error(fmt::format("{}: \"{}\" is not a valid quantity; exponent and unit are mutually exclusive, write the number out", what, text));
  if (number < 0) return input_error(fmt::format("{}: \"{}\" is negative; write 0 or more", what, text));
  if (unit == "E") return Quantity{std::string(trimmed), number * 1e18};
  for (const auto& [name, factor] : units)
    if (unit == name) return Quantity{std::string(trimmed), number * factor};
  if (const auto better = suggestion(written, unit); !better.empty())
    return input_error(fmt::format("{}: \"{}\" is not a valid quantity; {}", what, text, better));
  return not_a_quantity(text, what);
}

Result<std::int64_t> parse_count(std::string_view text, std::string_view what) {
  ASSIGN(const auto quantity, parse_quantity(text, what));
  constexpr std::int64_t most = 1'000'000;
  if (std::trunc(quantity.value) != quantity.value) return input_error(fmt::format("{}: \"{}\" is not an integer; write 1, 2, …", what, text));
  if (quantity.value > static_cast<double>(most))
    return input_error(fmt::format("{}: expected an integer from 0 to {}, got \"{}\"", what, most, text));
  return static_cast<std::int64_t>(quantity.value);
}

}  // namespace trainstep::plan
