// What a program's metrics file holds besides metrics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "data/json.h"

namespace trainstep::result {

// Of a plain object ({"accuracy": 0.93, "split": "test"}): the members that are neither numbers nor null. {} for every other shape that
// read_metrics() knows, and for what it does not take.
Json members_besides_metrics(std::string_view text);

}  // namespace trainstep::result
