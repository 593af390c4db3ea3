// JSON as Python's json module writes and reads it: NaN, Infinity and -Infinity are numbers, which JSON itself does not know.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "data/json.h"

namespace trainstep {

// As parse_json, with these three words where a value may stand.
Result<Json> parse_python_json(std::string_view text, std::string_view what, const ReadLimits& limits = {});

// The same for what a program has written: a whole number beyond 64 bits whose digits a double keeps is that double (10**20).
Result<Json> parse_returned_json(std::string_view text, std::string_view what);

// One line, as to_text(), which Python's json.loads reads back as the same numbers.
std::string to_python_text(const Json& json);

}  // namespace trainstep
