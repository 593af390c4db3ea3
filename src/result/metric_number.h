// A number as a sentence shows it, with what belongs to it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace trainstep::result {

struct ShownNumber {
  double value = 0;          // of "6.9 (7.0)", value and average, the average
  bool exact = false;        // written as no whole number: 0.5, 1e-3, nan
  bool percent = false;      // "93%", "93/100 (93%)"
  std::optional<double> of;  // the 100 of "93/100"
};

// Reads the number that begins at `at`, which it sets behind all of it. None, and `at` stays, if there is none.
std::optional<ShownNumber> read_shown_number(std::string_view text, std::size_t& at);

// The same of a number that begins with a digit, alone.
std::optional<double> read_digits(std::string_view text, std::size_t& at);

}  // namespace trainstep::result
