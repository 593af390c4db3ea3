// SPDX-License-Identifier: Apache-2.0
#include "cluster/first_contact.h"

#include <fmt/format.h>

#include <utility>

namespace trainstep::cluster {
namespace {

constexpr Duration contact_limit{4'500};
constexpr kube::Retry contact_retry{Duration(4'000)};

}  // namespace

std::string remedy_for(const kube::ApiError& problem) {
  const bool others = kube::says_nothing(problem) || problem.reason == kube::not_the_servers_reason;
  return others ? "; is this the address of an API server?" : "";
}

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
  why.message += remedy_for(problem);
  finish(std::move(why));
}

void FirstContact::finish(std::optional<Error> why) {
  m_timer.cancel();
  m_call = {};
  if (why) why = in_context("Secret " + m_secret, std::move(*why));
  std::exchange(m_done, nullptr)(std::move(why));  // the callback may destroy this object
}

}  // namespace trainstep::cluster
