// The simple token sources (credentials.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "kube/credentials.h"

namespace trainstep::kube {

// A source that may take long to get its token.
class SlowTokenSource : public TokenSource {
 public:
  // Whether token() returns immediately. false: it is working; ask again soon.
  virtual bool ready(Time now) = 0;
  // The caller wants to finish soon, for which a token may still be needed: aborts a run in progress, limits further runs to 10 s each, and returns
  // their failure as cancelled: nothing may wait for the next run on its own.
  virtual void hurry() {}
};
// SlowTokenSource::ready() and hurry() for any source: other sources are always ready, and hurry does nothing.
bool token_ready(TokenSource& source, Time now);
void hurry_token(TokenSource& source);

// Empty: no token is needed.
std::unique_ptr<TokenSource> fixed_token(std::string token);

// A file that is replaced from time to time, as the kubelet does. While it cannot be read, the last token is used.
std::unique_ptr<TokenSource> file_token(std::filesystem::path path);

// `token` and `ca.crt` in the folder of a pod's service account, both of which the kubelet rotates.
std::unique_ptr<TokenSource> service_account_token(const std::filesystem::path& folder);

// Trims the token. Errors (input): it is empty, or is not valid in a header; `what` names it, its value is not shown.
Result<std::string> checked_token(std::string_view text, std::string_view what);

}  // namespace trainstep::kube
