// Secrets out of texts that leave this machine: records, bug reports.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainstep {

// Every value in `secrets` that is at least six characters long, bearer tokens, JSON web tokens and the password of an address
// ("https://user:password@host") become "[redacted]".
std::string redacted(std::string_view text, const std::vector<std::string>& secrets);

// The values of those variables ("NAME=value") whose names speak of secrets: TOKEN, SECRET, PASSWORD, PASSWD, CREDENTIAL, KEY.
std::vector<std::string> secrets_of_environment(const std::vector<std::string>& variables);

}  // namespace trainstep
