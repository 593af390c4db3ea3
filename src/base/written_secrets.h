// Secrets in a text that are recognisable by their context: a name that sounds secret, a flag, the delimiters of a private key.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainstep {

// The values after names that sound secret: after a colon or an equals sign, quoted or not ("password=x", "{'token': 'x'}", "key: str = 'x'"); on the
// lines below the name in YAML; after a flag ("--token x", ["--token", "x"]); the second argument of a call (setdefault("TOKEN", "x")); passwords in
// the format of ~/.netrc; and private keys in PEM. Returns views of `text`, in order.
std::vector<std::string_view> written_secrets(std::string_view text);

// The text with these values replaced by "[redacted]".
std::string without_written_secrets(std::string_view text);

// The same for a message that quotes its input: only values between double quotes, and NAME=value anywhere. Its own words, such as "user me: token:
// expected a string", are not secrets.
std::string without_quoted_secrets(std::string_view message);

// Whether a word has the form of a flag, and is not a value that happens to begin with a dash, as one in 64 random values does: those contain digits
// or capitals.
bool is_flag(std::string_view word);

// "--token", "-api-key": the following word is a secret.
bool is_secret_flag(std::string_view word);

}  // namespace trainstep
