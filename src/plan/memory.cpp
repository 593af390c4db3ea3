// SPDX-License-Identifier: Apache-2.0
#include "plan/memory.h"

#include <fmt/format.h>

#include <utility>

namespace trainstep::plan {

Result<Quantity> parse_memory(std::string_view text, std::string_view what) {
  constexpr double least = 0x1p20;
  ASSIGN(auto quantity, parse_quantity(text, what));
  if (quantity.value == 0 || quantity.value >= least) return quantity;
  const std::string_view written = quantity.text;
  const auto number = written.substr(0, written.find_first_not_of("0123456789."));
  const auto better = written.ends_with('m') ? fmt::format("{0}Mi or {0}M", number) : fmt::format("{0}Mi or {0}Gi", number);
  return input_error(fmt::format("{}: \"{}\" is {:g} bytes; write a unit such as {}", what, text, quantity.value, better));
}

}  // namespace trainstep::plan
