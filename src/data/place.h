// Positions in a text, and the checks that apply to every text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "data/json.h"

namespace trainstep {

// "line 3, column 7": both start at 1, columns in characters. An offset beyond the end counts as the end.
std::string place_of(std::string_view text, std::size_t offset);

// "what: line 3, column 7: problem", an input error.
Error error_at(std::string_view what, std::string_view text, std::size_t offset, std::string_view problem);

// The offset of the first byte that is not part of well-formed UTF-8 (RFC 3629).
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// Error (input): a path that will be written to a text is not valid UTF-8. `what`: its description, "a path that pods use".
Result<void> check_path_text(std::string_view name, std::string_view path, std::string_view what);

// Checks the size, UTF-8 and NUL characters. Returns the text without its byte order mark.
Result<std::string_view> check_text(std::string_view text, std::string_view what, const ReadLimits& limits);

// The character at `offset` for a message: 'x', or U+0007 for a control character.
std::string show_character(std::string_view text, std::size_t offset);

// `text` in quotes for a message: truncated after 60 characters, control characters escaped.
std::string show_text(std::string_view text);

}  // namespace trainstep
