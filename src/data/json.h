// JSON for the whole program: keys keep their order, reading is strict and bounded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

extern template class nlohmann::basic_json<nlohmann::ordered_map>;  // instantiated once, in json.cpp, for all sources that include this

namespace trainstep {

using Json = nlohmann::ordered_json;

// Limits for a text, JSON and YAML alike; exceeding one is an `input` error that names the limit.
struct ReadLimits {
  std::size_t bytes = std::size_t{16} << 20U;
  std::size_t depth = 200;
  std::size_t nodes = 1'000'000;  // values after expansion of YAML aliases: stops alias bombs
};

// Errors (input) name `what` and the position: "train_parameters: line 3, column 7: …". Rejected: duplicate keys, invalid UTF-8, NaN and infinity,
// trailing text, numbers that overflow a double or underflow to 0, integers beyond 64 bits, anything over the limits.
Result<Json> parse_json(std::string_view text, std::string_view what, const ReadLimits& limits = {});

// One line; invalid UTF-8 is replaced, never an exception.
std::string to_text(const Json& json);
std::string to_pretty_text(const Json& json);

// "a string", "a number", "a boolean", "a list", "an object", "null": the type names used in messages.
std::string_view type_name(const Json& json);

// The member's value, or nullptr if it is null or absent, or `object` is not an object.
const Json* find(const Json& object, std::string_view key);
// The same along a path of keys: object[a][b]…; `object` may be nullptr.
const Json* find(const Json* object, std::initializer_list<std::string_view> path);

// The string found there, otherwise empty.
std::string text_of(const Json& object, std::string_view key);
std::string text_of(const Json* object, std::initializer_list<std::string_view> path);

}  // namespace trainstep
