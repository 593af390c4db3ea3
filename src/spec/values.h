// The types that specifications declare, and the values that fit them. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/result.h"
#include "data/json.h"
#include "spec/program.h"

namespace trainstep::spec {

// A type's name as v1 components write it, any case: String, Integer, Float, Bool, JsonObject, typing.List[int], Optional[str], …; unknown names are
// `any`. Never `artifact`: that depends on the use.
Type type_of_name(std::string_view declared);

// Whether a declared type says that there may be no value: Optional[str], typing.Optional[str].
bool is_optional_name(std::string_view declared);

// What messages call a value of the type: "a whole number".
std::string_view describe(Type type);

// The value as `type`, if nothing is lost: "3" and 3.0 are the integer 3, "True" is true, JSON text is a list or an object; an integer is also a
// text; "inf", "Infinity" and "nan" are numbers. any and artifact take everything as it is. Error (input): "wants a whole number, found "abc""; what
// `name` calls a secret is not quoted.
Result<Json> fit(const Json& value, Type type, std::string_view name = {});

// As a double, which is what KFP v2 knows. Error (input): a whole number of which a double has not all digits.
Result<Json> as_double(const Json& number, std::string_view name);

// Whole numbers that became doubles on their way through a pipeline (2.0) as integers again, at any depth: what KFP's backend gives to programs.
Json with_whole_numbers(Json value);

}  // namespace trainstep::spec
