// SPDX-License-Identifier: Apache-2.0
#include "cluster/secret_token.h"

#include <utility>

#include "cluster/remote.h"

namespace trainstep::cluster {
namespace {

constexpr Duration between_readings{10'000};
constexpr Duration token_timeout{5'000};

}  // namespace

SecretToken::SecretToken(kube::Client& home, kube::Path secret, kube::Credentials& first, Log log)
    : m_home(home),
      m_secret(std::move(secret)),
      m_server(first.server.origin()),
      m_token(std::move(first.token)),
      m_endpoint(first.endpoint),
      m_log(std::move(log)),
      m_read(home.loop().now()) {}

// A request with the token is retried for a minute, so a refusal too soon after the last read occurs again.
void SecretToken::refused() {
  const auto now = m_home.loop().now();
  // The refused request may have been sent with the other one.
  if (m_other && now - m_exchanged >= between_readings) {
    m_exchanged = now;
    return m_token.swap(m_other);
  }
  if (m_call || now - m_read < between_readings) return;
  m_call = m_home.get(m_secret, {}, {token_timeout}, [this](kube::Answer answer) {
    m_call = {};
    m_read = m_home.loop().now();
    take(std::move(answer));
  });
}

void SecretToken::take(kube::Answer answer) {
  const auto about = m_server + " does not accept the token of Secret " + m_secret.name;
  auto found = answer ? remote_credentials(*answer) : Result<kube::Credentials>(std::move(answer.error().error));
  if (!found) return log_once(about + ", which cannot be reread: " + found.error().message);
  if (found->server.origin() != m_server) return log_once(about + ", which now names another server: " + found->server.origin());
  if (is_the_same(*found)) return log_once(about + "; put a new one into the Secret");
  m_token = std::move(found->token);
  m_other.reset();
  m_endpoint = std::move(found->endpoint);
  m_said.clear();
  m_log(about + "; using its new one");
}

void SecretToken::use(std::string issued) { m_other = std::exchange(m_token, kube::fixed_token(std::move(issued))); }

void SecretToken::log_once(const std::string& line) {
  if (std::exchange(m_said, line) != line) m_log(line);
}

bool SecretToken::is_the_same(const kube::Credentials& found) {
  const auto& [now, before] = std::pair(*found.endpoint, *m_endpoint);
  const auto token = found.token->token(m_read).value_or("");
  const bool known = token == m_token->token(m_read).value_or("") || (m_other && token == m_other->token(m_read).value_or(""));
  return known && now.ca_pem == before.ca_pem && now.certificate_pem == before.certificate_pem && now.key_pem == before.key_pem &&
         now.verify == before.verify;
}

}  // namespace trainstep::cluster
