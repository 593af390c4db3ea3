// The text of a quoted YAML scalar.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace trainstep {

struct QuotedScalar {
  std::size_t at = 0;               // of the opening quote
  std::optional<std::string> text;  // nullopt: the closing quote is missing, or an escape is invalid
};

// yaml-cpp 0.7 finds quoted scalars but decodes some of them incorrectly: it loses a line break before the closing quote, which PyYAML writes for
// every text that ends with several, returns \N and \_ as bytes that are not valid UTF-8, and closes an open quote at the end of a text. This decodes
// the scalar whose first property (tag, anchor) or quote is at `at`. nullopt if the scalar is not quoted.
std::optional<QuotedScalar> read_quoted(std::string_view text, std::size_t at);

}  // namespace trainstep
