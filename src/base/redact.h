// Defines what counts as a secret, for everything that this program writes: reports, records, its own messages, output that it passes on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trainstep {

// Whether a variable, parameter or member with this name holds a secret: "HF_TOKEN", "password", "aws_secret_access_key", "apiKey"; for names in
// capitals also those that end in _KEY. Not "max_tokens", "sort_key", "TOKENIZERS_PARALLELISM", nor file names ("…_TOKEN_FILE").
bool sounds_secret(std::string_view name);

// Whether an item of a list with this name is secret: also of "tokens", whose items may be words of a text, if it looks like a generated one.
bool is_secret_item(std::string_view name, std::string_view item);

// Whether the value of a variable or parameter is secret: because of its name, or because a URL in it contains a user, a password or a signature.
bool holds_secret(std::string_view name, std::string_view value);

inline constexpr std::size_t min_secret_length = 6;  // bytes; a shorter value may be an ordinary word

// Replaces with "[redacted]": every value in `secrets` that has at least that length and is not an ordinary word ("default", "required"), in all
// forms of secret_forms.h; bearer tokens; JSON web tokens; user information before a host ("https://user:password@host", "https://token@host",
// "user:password@proxy:3128"); secret query parameters of a URL. Eight characters or more of a secret at an end of the text are a part that was cut
// off there. If one is interrupted by a colour or another control character, the result has none of them.
std::string redacted(std::string_view text, const std::vector<std::string>& secrets);

// What the last of some lines of a program's output says about the next one.
struct SplitLine {
  bool goes_on = false;        // the next one is its rest (max_line_length.h)
  bool within_secret = false;  // which begins within a secret (base/written_secrets.h)
};

// Replaces only `secrets` in complete lines of a program's output; where a line was split, however little of one is there. `last`: of the lines
// before; set for the next call.
std::string redacted_lines(std::string_view lines, const std::vector<std::string>& secrets, SplitLine& last);

// The texts to redact for a variable: if the name is secret, the value and each of its lines, because logs are line by line; the user information of
// URLs; for other names, literal values after a name in it that sounds secret ({"password": "x"}, --token x), but not program expressions.
std::vector<std::string> secrets_in(std::string_view name, std::string_view value);

// The same for a list of variables, "NAME=value".
std::vector<std::string> secrets_of_environment(const std::vector<std::string>& variables);

}  // namespace trainstep
