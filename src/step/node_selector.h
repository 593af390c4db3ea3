// node_selector: labels of the nodes to train on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "data/json.h"

namespace trainstep::step {

// Parses lines (or a comma-separated list) of `key: "value"`, `key: value`, `key=value`, or a JSON object; comments (#) and an empty text are
// allowed. Returns an object label → string. Values stay as written: 1.10 is the string "1.10". Errors (input): "node_selector: line 2: …".
Result<Json> parse_node_selector(std::string_view text);

// The same from an object, which is called `where` in messages: numbers and booleans become strings.
Result<Json> check_node_selector(const Json& object, const std::string& where = "node_selector");

}  // namespace trainstep::step
