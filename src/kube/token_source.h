// The simple token sources (credentials.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kube/credentials.h"

namespace trainstep::kube {

// Empty: no token is needed.
std::unique_ptr<TokenSource> fixed_token(std::string token);

// A file that is replaced from time to time, as the kubelet does. While it cannot be read, the last token is used.
std::unique_ptr<TokenSource> file_token(std::filesystem::path path);

// `token` and `ca.crt` in the folder of a pod's service account, both of which the kubelet rotates.
std::unique_ptr<TokenSource> service_account_token(const std::filesystem::path& folder);

// The end of a JSON web token's life (RFC 7519, 4.1.4, exp), as service accounts have them. nullopt: it is none, or does not say. Pure; nothing is
// verified.
std::optional<Time> expiry_of(std::string_view token);

// The service account of such a token (its claim sub: "system:serviceaccount:NAMESPACE:NAME"). nullopt: of none.
struct ServiceAccount {
  std::string name_space, name;
};
std::optional<ServiceAccount> service_account_of(std::string_view token);

// Trims the token. Errors (input): it is empty, or is not valid in a header; `what` names it, its value is not shown.
Result<std::string> checked_token(std::string_view text, std::string_view what);

}  // namespace trainstep::kube
