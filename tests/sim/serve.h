// The simulated API server at a pipe, so that other programs can ask it what they ask a real one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

namespace trainstep::sim {

// Each line is a request, {"method", "address", "body"?, "headers"?: {name: value}}, or {"wait": milliseconds}; each answer is one line, {"code",
// "text"}. Until the end of the input. A watch answers when its timeoutSeconds are over, in no time.
void serve(std::istream& requests, std::ostream& answers);

}  // namespace trainstep::sim
