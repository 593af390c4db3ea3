// JSON as the whole program uses it: keys keep their order, reading is strict and bounded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

extern template class nlohmann::basic_json<nlohmann::ordered_map>;  // in json.cpp, once for all sources that include this

namespace trainstep {

using Json = nlohmann::ordered_json;

// What a text may hold at most, JSON and YAML alike; more is an `input` error that names the limit.
struct ReadLimits {
  std::size_t bytes = std::size_t{16} << 20U;
  std::size_t depth = 200;
  std::size_t nodes = 1'000'000;  // values after YAML aliases are written out: stops alias bombs
};

// Errors (input) name `what` and the place: "train_parameters: line 3, column 7: …". Refused: duplicate keys, invalid UTF-8, NaN and infinity,
// trailing text, numbers beyond a double or so small that it would be 0, whole numbers beyond 64 bits, more than the limits.
Result<Json> parse_json(std::string_view text, std::string_view what, const ReadLimits& limits = {});

// One line; invalid UTF-8 is replaced, never thrown.
std::string to_text(const Json& json);
std::string to_pretty_text(const Json& json);

// "a string", "a number", "a boolean", "a list", "an object", "null": the words of our messages.
std::string_view type_name(const Json& json);

// The member's value or nullptr; null and absent are the same. `object` must be an object or null.
const Json* find(const Json& object, std::string_view key);

}  // namespace trainstep
