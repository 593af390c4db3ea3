// What is a secret: the one predicate for everything that this program writes for others – reports, records, its own sentences, what it passes on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace trainstep {

// Whether a variable, parameter or member of this name holds one: "HF_TOKEN", "password", "aws_secret_access_key", "apiKey"; of names in capitals
// also what ends in _KEY. Not "max_tokens", "sort_key", "TOKENIZERS_PARALLELISM", nor the name of a file ("…_TOKEN_FILE").
bool sounds_secret(std::string_view name);

// Whether the value of a variable or parameter is one: by its name, or because an address in it carries a user, a password or a signature.
bool holds_secret(std::string_view name, std::string_view value);

inline constexpr std::size_t shortest_secret = 6;  // bytes; what is shorter is an ordinary word, too

// Every value in `secrets` that is at least that long and no ordinary word ("default", "required"), in all forms of secret_forms.h, bearer
// tokens, JSON web tokens, whoever stands before a host ("https://user:password@host", "https://token@host", "user:password@proxy:3128") and secret
// members of its query become "[redacted]".
std::string redacted(std::string_view text, const std::vector<std::string>& secrets);

// The texts to look for, of a value that is secret by its name; each line of it, as a log has lines; of an address, what is before its host; of any
// other, what stands in it behind a name that sounds secret ({"password": "x"}, --token x), as it is and not as an expression of a program.
std::vector<std::string> secrets_in(std::string_view name, std::string_view value);

// The same of variables, "NAME=value".
std::vector<std::string> secrets_of_environment(const std::vector<std::string>& variables);

}  // namespace trainstep
