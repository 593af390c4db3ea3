// The text of a quoted YAML scalar.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace trainstep {

// yaml-cpp 0.7 finds quoted scalars but does not read all of them right: it loses a line break before the closing quote, where PyYAML writes every
// text that ends with several, and gives \N and \_ as bytes that are no UTF-8. This reads the scalar whose first property (tag, anchor) or quote
// stands at `at`. None if no closed quoted scalar stands there.
std::optional<std::string> read_quoted(std::string_view text, std::size_t at);

}  // namespace trainstep
