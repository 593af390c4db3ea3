// The simple sources of tokens (credentials.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "kube/credentials.h"

namespace trainstep::kube {

// A source that has to work for its token.
class SlowTokenSource : public TokenSource {
 public:
  // Whether token() answers at once. False: it is at work; ask again soon.
  virtual bool ready(Time now) = 0;
  // Somebody wants an end, for which a token may still be needed: what is at work is given up, further tries get 10 s each, and their failure
  // (cancelled) is told to who asks: nothing waits for the next one of its own accord.
  virtual void hurry() {}
};
bool token_ready(TokenSource& source, Time now);
void hurry_token(TokenSource& source);

// Empty: no token is needed.
std::unique_ptr<TokenSource> fixed_token(std::string token);

// A file that somebody replaces, as the kubelet does. When it cannot be read for a while, the last token still serves.
std::unique_ptr<TokenSource> file_token(std::filesystem::path path);

// `token` and `ca.crt` in the folder of a pod's service account, both of which the kubelet replaces.
std::unique_ptr<TokenSource> service_account_token(const std::filesystem::path& folder);

// Without the white space around it. Errors (input): nothing is left, or it could not stand in a header; `what` names it, it is not shown.
Result<std::string> checked_token(std::string_view text, std::string_view what);

}  // namespace trainstep::kube
