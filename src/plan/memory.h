// Parses quantities of bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/quantity.h"

namespace trainstep::plan {

// As parse_quantity; in addition, less than 1 MiB is an error, because the unit is missing (32), or 512m (half a byte) was written for 512M. 0 is
// allowed.
Result<Quantity> parse_memory(std::string_view text, std::string_view what);

}  // namespace trainstep::plan
