// Formats a value for a command line. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/json.h"
#include "spec/program.h"

namespace trainstep::plan {

// v1: as serialized by the SDK 1.8 (components/_data_passing.py): str() of Python – True, 3.0, 1e-05 –, lists and objects as
// json.dumps(sort_keys=True). v2 and plain: as written by KFP's launcher: true, 3, 0.00001 (shortest decimal, never an exponent), lists and objects
// as JSON without blanks.
// Strings are unchanged.
std::string value_text(const Json& value, spec::Dialect dialect);

}  // namespace trainstep::plan
