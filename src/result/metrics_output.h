// The contents of a program's metrics file other than metrics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "data/json.h"

namespace trainstep::result {

// Of a plain object ({"accuracy": 0.93, "split": "test"}): the members that are neither numbers nor null. {} for all other formats of read_metrics(),
// and for what it refuses.
Json members_besides_metrics(std::string_view text);

}  // namespace trainstep::result
