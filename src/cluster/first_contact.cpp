// SPDX-License-Identifier: Apache-2.0
#include "cluster/first_contact.h"

#include <fmt/format.h>

#include <utility>

#include "kube/token_source.h"

namespace trainstep::cluster {
namespace {

constexpr Duration contact_limit{4'500};
constexpr kube::Retry contact_retry{Duration(4'000)};

// "it has expired at 2026-11-29T08:00:00.000Z; ", by the server's clock; otherwise empty.
std::string expiry_in_words(kube::Client& client) {
  const auto now = client.loop().now() + client.clock().value_or(Duration(0));
  const auto token = client.credentials().token->token(now);
  const auto expiry = token ? kube::expiry_of(*token) : std::nullopt;
  return expiry && *expiry <= now ? fmt::format("it has expired at {}; ", to_rfc3339(*expiry)) : "";
}

}  // namespace

FirstContact::FirstContact(kube::Client& client, std::string secret, Done done)
    : m_client(client), m_secret(std::move(secret)), m_done(std::move(done)) {
  m_timer = m_client.loop().timer(contact_limit, [this] {
    finish(
        Error{ErrorKind::unavailable, fmt::format("{} does not respond within {}", m_client.credentials().server.origin(), describe(contact_limit))});
  });
  m_call = m_client.get({"authorization.k8s.io/v1"}, {}, contact_retry, [this](const kube::Answer& answer) { answered(answer); });
}

// An API server that permits nothing has answered all the same.
void FirstContact::answered(const kube::Answer& answer) {
  if (answer) return finish({});
  const auto& problem = answer.error();
  if (problem.is_status && problem.status == 403) return finish({});
  auto why = problem.error;
  if (problem.status == 401) why.message += fmt::format("; {}put a valid token into the Secret", expiry_in_words(m_client));
  if (kube::says_nothing(problem)) why.message += "; is this the address of an API server?";
  finish(std::move(why));
}

void FirstContact::finish(std::optional<Error> why) {
  m_timer.cancel();
  m_call = {};
  if (why) why = in_context("Secret " + m_secret, std::move(*why));
  std::exchange(m_done, nullptr)(std::move(why));  // the callback may destroy this object
}

}  // namespace trainstep::cluster
