// The JSON reader behind parse_json, with what the YAML reader needs in addition.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace trainstep {

// Why a text was rejected as JSON.
enum class JsonFault {
  rule,     // a limit, a duplicate key, a number too large: wrong in YAML as well
  word,     // None, NaN and the like: not JSON, most likely Python
  grammar,  // another syntax error: not JSON, but possibly YAML
};

struct JsonReading {
  std::optional<Json> json;  // set on success; otherwise:
  Error error;
  JsonFault fault = JsonFault::rule;
};

// How to treat integers beyond 64 bits, and decimals that underflow to 0 as a double.
enum class BeyondNumbers {
  refused,
  kept,     // integers: as a double if that keeps all digits, as in a double written without exponent: 100000000000000000000; others are refused
  rounded,  // to a double
};

// `text` must have passed check_text.
JsonReading read_json(std::string_view text, std::string_view what, const ReadLimits& limits, BeyondNumbers beyond = BeyondNumbers::refused);

// parse_json for the output of programs that only have doubles, such as Go's.
Result<Json> read_doubles(std::string_view text, std::string_view what, const ReadLimits& limits = {});

// parse_json for server responses, and for what a program has written at its end: how a number is written there cannot be changed any more, and one
// that a double cannot hold exactly must not invalidate the rest.
Result<Json> read_answer(std::string_view text, std::string_view what, const ReadLimits& limits = {});

// Where a JSON parser stopped.
struct JsonStop {
  struct Open {
    char bracket;  // '{' or '['
    std::size_t at;
  };
  std::size_t last_end = 0;  // the offset after the last token that was accepted
  std::size_t position = 0;  // the offset up to which the text was read
  bool after_key = false;    // the last token was an object key
  bool complete = false;     // a whole value was read before
  std::vector<Open> open;    // the unclosed brackets, outermost first
};

struct JsonDiagnosis {
  std::size_t at;
  std::string problem;  // for the user, with the remedy where it is obvious
  JsonFault fault = JsonFault::grammar;
};
JsonDiagnosis diagnose_json(std::string_view text, const JsonStop& stop);

}  // namespace trainstep
