// SPDX-License-Identifier: Apache-2.0
#include "cluster/lease_permission.h"

#include <utility>

#include "cluster/permissions.h"

namespace trainstep::cluster {
namespace {

constexpr kube::Retry review_retry{Duration(3'000)};

}  // namespace

LeasePermission::LeasePermission(kube::Client& client, const std::string& name_space, std::function<void(bool)> done)
    : m_done(std::move(done)), m_pending(m_calls.size()) {
  const auto* verb = "create";
  for (auto& call : m_calls) {
    const Permission right{"coordination.k8s.io", "leases", std::exchange(verb, "patch")};
    call = client.create({"authorization.k8s.io/v1", "selfsubjectaccessreviews"}, access_review(right, name_space), false, review_retry,
                         [this](const kube::Answer& answer) { answered(answer); });
  }
}

void LeasePermission::answered(const kube::Answer& answer) {
  m_allowed = m_allowed && answer && allowed(*answer);
  if (--m_pending == 0) std::exchange(m_done, nullptr)(m_allowed);
}

}  // namespace trainstep::cluster
