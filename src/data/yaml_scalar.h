// The value of a YAML scalar.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "data/json.h"

namespace trainstep {

// A scalar without quotes and tag, by the core schema of YAML 1.2: null, booleans, numbers, otherwise a string. What PyYAML, which writes most of
// these texts, leaves unquoted as a string is a string: 1e3, 1.5e3 (its floats always look like 1.0e+3). So are yes, no, on, off and dates, and
// literals that YAML versions read differently: 0123, 0o17, 0x1F; a string parameter then gets them as written, and a number parameter reports an
// error. Errors have no position: too large, .nan and .inf unless `non_finite`.
Result<Json> resolve_plain(const std::string& text, bool non_finite = false);

// A scalar with a tag of tag:yaml.org,2002, given without that prefix: "str", "int", … Error: unknown tag, or the text is not of that type.
Result<Json> resolve_tagged(std::string_view type, const std::string& text);

}  // namespace trainstep
