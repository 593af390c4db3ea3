// Text of others on its way to people: nothing in it may begin a line of its own, move a cursor or change what stands around it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainstep {

// The length of the UTF-8 character at the front of a text that is not empty; 0: it is none.
std::size_t utf8_length(std::string_view text);

// How many bytes a terminal's escape sequence at the front (which is ESC) takes: ESC [ … letter, ESC ] … BEL or ESC \, or ESC and one more.
std::size_t escape_sequence_length(std::string_view text);

// Others' words within a line of ours (a server's message, a file's name): line breaks, control characters, marks that turn the direction of writing
// and bytes that are no UTF-8 are spelled out: "\n", "\x1b", "\u202e", "\xff". Tabs stay.
std::string printable(std::string_view text);

// A line of a program without its newline. What was redrawn behind carriage returns is its last state that shows anything.
std::string_view last_state(std::string_view line);

// Whether lines can be shown as they are: they hold no control characters but tabs and line breaks, nor what may be the first byte of one.
bool is_plain(std::string_view lines);

// Appends that last state as a line's rest: tabs and colours stay, and end with the line; other control characters and escape sequences are left out.
void append_shown(std::string& to, std::string_view line);

// The same without colours.
std::string plain(std::string_view line);

}  // namespace trainstep
