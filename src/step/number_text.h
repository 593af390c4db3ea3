// Formats numbers for people.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace trainstep::step {

// Four significant digits ("0.9311", "1.2e-05"), integers in full; "NaN", "∞", "−∞".
std::string number_text(double value);

}  // namespace trainstep::step
