// Colours and other control characters within a word, which hide it from a search, but not from a reader.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace trainstep {

// redact(text); or, if that finds more in the text without terminal escape sequences and control characters (tabs and line breaks are none here), the
// result for the text without them.
std::string redact_despite_interruptions(std::string_view text, const std::function<std::string(std::string_view)>& redact);

}  // namespace trainstep
