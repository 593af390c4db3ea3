// Kubernetes resource quantities (apimachinery/pkg/api/resource/quantity.go): "8", "1000m", "0.5", "32Gi", "1e9".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace trainstep::plan {

// The text is passed to Kubernetes unchanged; the number is for our own computations.
struct Quantity {
  std::string text;
  double value = 0;  // cores, bytes or units
};

// Errors (input): not a quantity, negative, or a common mistake in the unit: "1GB" (suggests 1Gi or 1G).
Result<Quantity> parse_quantity(std::string_view text, std::string_view what);
// A quantity that must be an integer from 0 to a million (GPUs); "2.0" is 2.
Result<std::int64_t> parse_count(std::string_view text, std::string_view what);

}  // namespace trainstep::plan
