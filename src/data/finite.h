// NaN and infinity, which JSON cannot represent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/json.h"

namespace trainstep {

// Replaces NaN and infinite numbers, at any depth, with the strings that proto3 JSON uses for them: "NaN", "Infinity", "-Infinity". to_text() writes
// them like this.
Json portable(Json json);
bool all_finite(const Json& json);

}  // namespace trainstep
