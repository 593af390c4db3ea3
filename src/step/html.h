// Text that goes into an HTML page.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trainstep::step {

// Everything that came from outside passes through here: markup is escaped, terminal colours and other control characters are taken out, invalid
// UTF-8 is replaced. Line breaks and tabs stay. Good for element content and for quoted attributes.
std::string escaped(std::string_view text);

// At most `most` bytes, cut between characters and marked with "…".
std::string shortened(std::string_view text, std::size_t most);

}  // namespace trainstep::step
