// What a YAML scalar means.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "data/json.h"

namespace trainstep {

// A scalar without quotes and tag, by the core schema of YAML 1.2: null, booleans, numbers, else a string. Where PyYAML, which writes most of the
// texts that come here, would take the same characters for a string and so leaves a string unquoted, it is a string: 1e3, 1.5e3 (its floats always
// look like 1.0e+3). So are yes, no, on, off and dates, and what versions of YAML read in different ways: 0123, 0o17, 0x1F; who means a text gets it
// as it is written, and who wants a number is told. Errors have no place: too large, .nan and .inf unless `non_finite`.
Result<Json> resolve_plain(const std::string& text, bool non_finite = false);

// A scalar with a tag of tag:yaml.org,2002, given without that prefix: "str", "int", … Error: unknown tag, or the text is none of that.
Result<Json> resolve_tagged(std::string_view type, const std::string& text);

}  // namespace trainstep
