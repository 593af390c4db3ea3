// Secrets in JSON. What is one, base/redact.h says.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace trainstep {

// The texts to look for: of members whose names sound secret, and of addresses, at any depth. `name` is the value's own.
void collect_secrets(std::string_view name, const Json& value, std::vector<std::string>& secrets);

// The value without them: a member whose name sounds secret is "[redacted]" as a whole, other texts are redacted().
Json redacted_json(const Json& value, const std::vector<std::string>& secrets);

}  // namespace trainstep
