// SPDX-License-Identifier: Apache-2.0
#include "cluster/token_renewal.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/objects.h"

namespace trainstep::cluster {
namespace {

constexpr Duration short_life{3'600'000};        // less is left: the token is renewed at once
constexpr std::int64_t wanted_seconds = 14'400;  // servers may grant another time
constexpr Duration reported{86'400'000};         // an end that is nearer
constexpr Duration least_pause{60'000};
constexpr Duration request_limit{30'000};

Time expiry_of_answer(const Json& answer, Time now) {
  return from_rfc3339(text(at(&answer, "status"), "expirationTimestamp")).value_or(now + std::chrono::seconds(wanted_seconds));
}

}  // namespace

TokenRenewal::TokenRenewal(Context context) : m_context(std::move(context)) {
  const auto token = m_context.token.token(now());
  const auto expiry = token ? kube::expiry_of(*token) : std::nullopt;
  if (!expiry) return;
  m_expiry = *expiry;
  m_account = kube::service_account_of(*token);
  m_account ? plan() : report_expiry("");
}

// By the server's clock, which decides.
Time TokenRenewal::now() const { return m_context.client.loop().now() + m_context.client.clock().value_or(Duration(0)); }

void TokenRenewal::plan() {
  const auto life = std::chrono::duration_cast<Duration>(m_expiry - now());
  const auto left = std::min(life / 5, std::chrono::duration_cast<Duration>(life - least_pause));
  const auto pause = !m_requested && life <= short_life ? Duration(0) : std::max(life - left, least_pause);
  m_timer = m_context.client.loop().timer(pause, [this] { request(); });
}

void TokenRenewal::request() {
  m_requested = true;
  const Json body = {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", {{"expirationSeconds", wanted_seconds}}}};
  m_call = m_context.client.create({"v1", "serviceaccounts", m_account->name_space, m_account->name, "token"}, body, false, {request_limit},
                                   [this](const kube::Answer& answer) { answered(answer); });
}

void TokenRenewal::answered(const kube::Answer& answer) {
  if (!answer) {
    const auto& problem = answer.error();
    const bool refused = problem.is_status && problem.status / 100 == 4 && problem.status != 401 && problem.status != 429;
    if (refused) return report_expiry(problem.error.message);
    m_timer = m_context.client.loop().timer(least_pause, [this] { request(); });
    return;
  }
  auto token = kube::checked_token(text(at(&*answer, "status"), "token"), "the answer to a TokenRequest");
  if (!token) return report_expiry(token.error().message);
  const auto expiry = expiry_of_answer(*answer, now());
  if (expiry <= m_expiry) return plan();  // a server may grant less than the token of a Secret has left
  m_expiry = expiry;
  m_context.token.use(std::move(*token));
  if (!std::exchange(m_reported, true))
    m_context.log(fmt::format("{} has issued a new token for {}/{}: valid for {}, and renewed before it expires",
                              m_context.client.credentials().description, m_account->name_space, m_account->name,
                              describe(std::chrono::duration_cast<Duration>(m_expiry - now()))));
  plan();
}

// `why`: why it is not renewed; empty: it cannot be.
void TokenRenewal::report_expiry(const std::string& why) const {
  const auto left = std::chrono::duration_cast<Duration>(m_expiry - now());
  if (left > reported) return;
  const auto when = left <= Duration(0) ? fmt::format("has expired at {}", to_rfc3339(m_expiry)) : fmt::format("expires in {}", describe(left));
  m_context.log(
      fmt::format("Secret {}: the token for {} {}{}{}; put a new one into the Secret, which is read again when the server rejects the old one",
                  m_context.secret, m_context.client.credentials().description, when, why.empty() ? "" : " and cannot be renewed: ", why));
}

}  // namespace trainstep::cluster
