// JSON as Python's json module writes and reads it: with NaN, Infinity and -Infinity, which JSON does not have.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "data/json.h"

namespace trainstep {

// Like parse_json, and accepts these three words as values.
Result<Json> parse_python_json(std::string_view text, std::string_view what, const ReadLimits& limits = {});

// The same for a program's return value: an integer beyond 64 bits becomes the nearest double.
Result<Json> parse_returned_json(std::string_view text, std::string_view what);

// One line, like to_text(), which Python's json.loads reads back as the same numbers.
std::string to_python_text(const Json& json);

}  // namespace trainstep
