// How a text looks where programs print it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainstep {

// The text itself, and without blanks at its ends, as clients send what they have read from a file; and of both, where they differ: as JSON, as
// Python's repr(), ascii() and repr() of its bytes, each without the quotes around it; percent-encoded, escaped for HTML, quoted for a shell.
std::vector<std::string> written_forms(std::string_view text);

}  // namespace trainstep
