// SPDX-License-Identifier: Apache-2.0
#include "step/number_text.h"

#include <fmt/format.h>

#include <cmath>

namespace trainstep::step {

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  constexpr double max_in_full = 1e9;
  if (std::trunc(value) == value && std::abs(value) < max_in_full) return fmt::format("{}", static_cast<long long>(value));
  if (std::abs(value) >= 1000 && std::abs(value) < max_in_full) return fmt::format("{:.1f}", value);
  return fmt::format("{:.4g}", value);
}

}  // namespace trainstep::step
