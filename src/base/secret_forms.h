// The forms in which programs print a text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainstep {

// The text itself, and with blanks trimmed, as clients send what they read from a file. For both, if different: JSON (also Go's), Python's repr(),
// ascii() and repr() of the bytes, each without the surrounding quotes; percent-encoded; HTML-escaped; shell-quoted.
std::vector<std::string> written_forms(std::string_view text);

// An unreserved character of RFC 3986, section 2.3: the same in all forms.
bool is_unreserved(char c);

}  // namespace trainstep
