// Makes untrusted text safe to display: it cannot start a line of its own, move the cursor or alter the surrounding text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainstep {

// The length in bytes of the UTF-8 character at the start of a non-empty text; 0: not valid UTF-8.
std::size_t utf8_length(std::string_view text);

// The length in bytes of the terminal escape sequence at the start of the text (which begins with ESC): ESC [ … letter, ESC ] … BEL or ESC \, or ESC
// and one more byte.
std::size_t escape_sequence_length(std::string_view text);

// Untrusted text for use within one of our lines (a server's message, a file name): line breaks, control characters, bidirectional marks and bytes
// that are not valid UTF-8 are escaped: "\n", "\x1b", "\u202e", "\xff". Tabs are kept.
std::string printable(std::string_view text);

// Whether there is a control character, tabs and line breaks included.
bool has_control(std::string_view text);

// The beginning of a page that is not the answer of the expected server, for a message: printable, on one line, its blanks collapsed; beyond 200
// bytes it ends with "…". "" if it is blank.
std::string excerpt(std::string_view page);

// For a line of program output without its newline: the last part between carriage returns that shows anything.
std::string_view last_state(std::string_view line);

// Whether the lines can be shown unchanged: they contain no control characters except tabs and line breaks, and no byte that may start a C1 control.
bool is_plain(std::string_view lines);

// Appends last_state(line): tabs and colours are kept, and colours are reset at the end; other control characters and escape sequences are dropped.
void append_shown(std::string& to, std::string_view line);

// The same without colours.
std::string plain(std::string_view line);

}  // namespace trainstep
