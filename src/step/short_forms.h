// The flags -n and --type: short forms of two keys of distribution_specification. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "data/json.h"

namespace trainstep::step {

// Their values as given; empty: not given.
struct ShortForms {
  std::string workers;  // number_of_workers
  std::string type;     // distribution_type
};

// Adds them to distribution_specification, which checks them later. Error (usage): it has another value for the same key.
Result<void> apply(const ShortForms& given, Json& distribution);

}  // namespace trainstep::step
