// Text that goes into an HTML page.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trainstep::step {

// All text from outside must pass through this: escapes markup, removes terminal colours and other control characters, replaces invalid UTF-8.
// Newlines and tabs are kept. The result is safe as element content and in quoted attributes.
std::string escaped(std::string_view text);

// At most `most` bytes, cut between characters and marked with "…".
std::string shortened(std::string_view text, std::size_t most);

}  // namespace trainstep::step
