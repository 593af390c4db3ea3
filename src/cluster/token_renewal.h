// Keeps the token for another cluster from expiring while its job lives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cluster/secret_token.h"
#include "kube/client.h"
#include "kube/token_source.h"

namespace trainstep::cluster {

// Requests a new token of the same service account (TokenRequest, authentication.k8s.io/v1; "create serviceaccounts/token" for that account) when a
// fifth of the token's life is left, or less than an hour. A new one that expires later is used by this process alone: the Secret is not changed.
// Without that permission the end of the token is reported if it is near. A token that does not expire, or is not of a service account, is left as it
// is.
class TokenRenewal {
 public:
  struct Context {
    kube::Client& client;  // of the other cluster
    SecretToken& token;    // of that client
    std::string secret;    // that the token is from, for messages
    std::function<void(const std::string& line)> log;
  };

  // References must outlive it.
  explicit TokenRenewal(Context context);
  TokenRenewal(const TokenRenewal&) = delete;
  TokenRenewal& operator=(const TokenRenewal&) = delete;

 private:
  [[nodiscard]] Time now() const;
  void plan();
  void request();
  void answered(const kube::Answer& answer);
  void report_expiry(const std::string& why) const;

  Context m_context;
  std::optional<kube::ServiceAccount> m_account;
  Time m_expiry;
  bool m_requested = false;
  bool m_reported = false;  // that it was renewed
  Timer m_timer;
  kube::PendingCall m_call;
};

}  // namespace trainstep::cluster
