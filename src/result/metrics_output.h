// The values in what a program wrote as its metrics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace trainstep::result {

// A number, or a text that is one: 0.93, "0.93", "NaN". nullopt: anything else.
std::optional<double> metric_value(const Json& json);

// Of a plain object ({"accuracy": 0.93, "split": "test"}): the members that are neither numbers nor null, texts as they were written. {} for all
// other formats of read_metrics(), and for what it refuses.
Json members_besides_metrics(std::string_view text);

// The names of all members that are not metrics, null included: of a plain object, of the metadata of artifacts. Of a list, those next to it. {} for
// what read_metrics() refuses.
std::vector<std::string> members_without_number(std::string_view text);

}  // namespace trainstep::result
