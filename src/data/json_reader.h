// The JSON reader behind parse_json, with what the YAML reader needs to know beyond it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace trainstep {

// Why a text is not read as JSON.
enum class JsonFault {
  rule,     // a limit, a duplicate key, a number too large: wrong in any language
  word,     // None, NaN and the like: no JSON, most likely Python's
  grammar,  // something else that is no JSON, but perhaps YAML
};

struct JsonReading {
  std::optional<Json> json;  // or:
  Error error;
  JsonFault fault = JsonFault::rule;
};

// Of integers beyond 64 bits, and of decimals so small that a double is 0.
enum class BeyondNumbers {
  refused,
  kept,     // a double, if that keeps all digits, as a double is that was written without exponent: 100000000000000000000; the others are refused
  rounded,  // to a double
};

// `text` has passed check_text.
JsonReading read_json(std::string_view text, std::string_view what, const ReadLimits& limits, BeyondNumbers beyond = BeyondNumbers::refused);

// parse_json for what a program has written that knows doubles only, or integers of any length: Go's and Python's, say.
Result<Json> read_doubles(std::string_view text, std::string_view what, const ReadLimits& limits = {});

// parse_json for what a server answers: nobody can write a number there in another way, and one that is of no use to us must not hide all the rest.
Result<Json> read_answer(std::string_view text, std::string_view what, const ReadLimits& limits = {});

// Where a JSON parser stopped.
struct JsonStop {
  struct Open {
    char bracket;  // '{' or '['
    std::size_t at;
  };
  std::size_t last_end = 0;  // the offset behind the last token that was understood
  std::size_t position = 0;  // how far the text was read
  bool after_key = false;    // the last token was an object's key
  bool complete = false;     // a whole value was read before
  std::vector<Open> open;    // the brackets not yet closed, outermost first
};

struct JsonDiagnosis {
  std::size_t at;
  std::string problem;  // in a user's words, with the remedy where it is obvious
  JsonFault fault = JsonFault::grammar;
};
JsonDiagnosis diagnose_json(std::string_view text, const JsonStop& stop);

}  // namespace trainstep
