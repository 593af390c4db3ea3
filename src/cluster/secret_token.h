// The token for another cluster, from the Secret of cluster_configuration_secret.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kube/client.h"
#include "kube/token_source.h"

namespace trainstep::cluster {

// If the server refuses the token, reads the Secret again from `home`, at most every ten seconds, and uses its token and certificates from then on.
// If it cannot be read, is unchanged, or names another server, the old ones are kept. `log` reports the result.
class SecretToken : public kube::TokenSource {
 public:
  using Log = std::function<void(const std::string&)>;
  // References must outlive it. `first`: the contents of the Secret so far; takes its token.
  SecretToken(kube::Client& home, kube::Path secret, kube::Credentials& first, Log log);
  SecretToken(const SecretToken&) = delete;
  SecretToken& operator=(const SecretToken&) = delete;

  bool ready(Time /*now*/) override { return !m_call; }
  Result<std::string> token(Time now) override { return m_token->token(now); }
  void refused() override;
  // Uses this token, which the other cluster has issued. If that is refused, the one before it is tried once more before the Secret is read.
  void use(std::string issued);
  [[nodiscard]] std::shared_ptr<const http::Endpoint> endpoint() const override { return m_endpoint; }

 private:
  void take(kube::Answer answer);
  void log_once(const std::string& line);
  [[nodiscard]] bool is_the_same(const kube::Credentials& found);

  kube::Client& m_home;
  kube::Path m_secret;
  std::string m_server;
  std::unique_ptr<kube::TokenSource> m_token;
  std::unique_ptr<kube::TokenSource> m_other;  // after use(): the one before it, or this one if that was refused
  std::shared_ptr<const http::Endpoint> m_endpoint;
  Log m_log;
  std::string m_said;
  Time m_read;
  Time m_exchanged;  // when the two tokens were
  kube::PendingCall m_call;
};

}  // namespace trainstep::cluster
