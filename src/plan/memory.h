// Quantities of bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/quantity.h"

namespace trainstep::plan {

// As parse_quantity; besides, what is less than a MiB is refused, as a unit was forgotten (32), or 512m (half a byte) written for 512M. 0 is 0.
Result<Quantity> parse_memory(std::string_view text, std::string_view what);

}  // namespace trainstep::plan
