// Secrets that stand in a text beside what says that they are some: a name that sounds secret, a flag, the lines around a private key.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainstep {

// The values behind names that sound secret: after a colon or an equals sign, quoted or not ("password=x", "{'token': 'x'}", "key: str = 'x'"), below
// them in YAML, or as what follows a flag ("--token x", ["--token", "x"]), a function's second word (setdefault("TOKEN", "x")); passwords in
// ~/.netrc's form; and private keys in PEM. Views of `text`, in its order.
std::vector<std::string_view> written_secrets(std::string_view text);

// The text with "[redacted]" in their place.
std::string without_written_secrets(std::string_view text);

// A message that quotes what it was given: the same of what stands between its double quotes, and of NAME=value anywhere. Its own words, such as
// "user me: token: expected a string", are no secrets.
std::string without_quoted_secrets(std::string_view message);

// A flag by its form, and not a value that happens to begin with a dash, as one of 64 random ones does: those have digits or capitals.
bool is_flag(std::string_view word);

// "--token", "-api-key": what follows as a word of its own is a secret.
bool is_secret_flag(std::string_view word);

}  // namespace trainstep
