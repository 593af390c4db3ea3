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
  std::optional<std::string> text;  // none: the closing quote is missing, or an escape is wrong
};

// yaml-cpp 0.7 finds quoted scalars but does not read all of them right: it loses a line break before the closing quote, where PyYAML writes every
// text that ends with several, gives \N and \_ as bytes that are no UTF-8, and closes an open quote at the end of a text. This reads the scalar whose
// first property (tag, anchor) or quote stands at `at`. None if it is not a quoted one.
std::optional<QuotedScalar> read_quoted(std::string_view text, std::size_t at);

}  // namespace trainstep
