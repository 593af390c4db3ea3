// The types that specifications declare, and conversion of values to them. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"
#include "data/json.h"
#include "spec/program.h"

namespace trainstep::spec {

// The type for a name as written in v1 components, in any case: String, Integer, Float, Bool, JsonObject, typing.List[int], Optional[str], …; unknown
// names are `any`. Never `artifact`: that depends on the use.
Type type_of_name(std::string_view declared);

// Whether a declared type permits a missing value: Optional[str], typing.Optional[str].
bool is_optional_name(std::string_view declared);

// The type's name in messages: "an integer".
std::string_view describe(Type type);

// Converts the value to `type` if that is lossless: "3" and 3.0 are the integer 3, "True" is true, JSON text is a list or an object; an integer is
// also a string; "inf", "Infinity" and "nan" are numbers. any and artifact accept every value unchanged. Error (input): "expected an integer, got
// "abc""; the value is not quoted if `name` suggests a secret.
Result<Json> fit(const Json& value, Type type, std::string_view name = {});

// Converts to a double, the only number type of KFP v2. Error (input): an integer that a double cannot represent exactly.
Result<Json> as_double(const Json& number, std::string_view name);

// Converts integral doubles (2.0), into which pipelines turn integers, back to integers, at any depth: as KFP's backend passes them to programs.
Json with_whole_numbers(Json value);

}  // namespace trainstep::spec
