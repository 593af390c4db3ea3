// NaN and infinity, for which JSON has no word.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/json.h"

namespace trainstep {

// Numbers that are NaN or infinite as the texts that proto3's JSON has for them, "NaN", "Infinity", "-Infinity", at any depth: so to_text() writes
// them.
Json portable(Json json);
bool all_finite(const Json& json);

}  // namespace trainstep
