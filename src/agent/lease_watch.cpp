// SPDX-License-Identifier: Apache-2.0
#include "agent/lease_watch.h"

#include <fmt/format.h>

#include <utility>

namespace trainstep::agent {
namespace {

constexpr kube::Retry lease_retry{Duration(10'000)};

}  // namespace

std::optional<Time> held_until(const Json& lease) {
  const auto* spec = trainstep::find(lease, "spec");
  if (spec == nullptr) return std::nullopt;
  const auto renewed = from_rfc3339(trainstep::text_of(*spec, "renewTime"));
  const auto* seconds = trainstep::find(*spec, "leaseDurationSeconds");
  if (!renewed || seconds == nullptr || !seconds->is_number_integer()) return std::nullopt;
  return *renewed + std::chrono::seconds(seconds->get<std::int32_t>());
}

LeaseWatch::LeaseWatch(Context context, std::shared_ptr<kube::Credentials> credentials, std::string job, plan::TaskLease lease)
    : m_context(std::move(context)),
      m_client(m_context.loop, m_context.transport, credentials, m_context.seed),
      m_path{"coordination.k8s.io/v1", "leases", credentials->name_space, std::move(job), ""},
      m_lease(lease),
      m_began(m_context.loop.now()) {
  read_later();
}

void LeaseWatch::read_later() {
  m_timer = m_context.loop.timer(m_lease.interval(), [this] { read(); });
}

void LeaseWatch::read() {
  m_call = m_client.get(m_path, {}, lease_retry, [this](const kube::Answer& answer) { handle(answer); });
}

bool LeaseWatch::is_stale(const kube::Answer& answer) const {
  if (!answer) return m_lease.expected && answer.error().status == 404 && answer.error().is_status && m_context.loop.now() > m_began + m_lease.length;
  const auto until = held_until(*answer);
  return until && m_context.loop.now() + m_client.clock().value_or(Duration{0}) > *until;
}

void LeaseWatch::handle(const kube::Answer& answer) {
  const bool was_stale = std::exchange(m_stale, is_stale(answer));
  if (m_stale && was_stale)
    return m_context.lapsed(fmt::format("no step follows this job: {}",
                                        answer ? fmt::format("its Lease {} was not renewed by {}", m_path.name, to_rfc3339(*held_until(*answer)))
                                               : fmt::format("there is no Lease {} after {}", m_path.name, describe(m_lease.length))));
  if (!answer && answer.error().status == 403 && !std::exchange(m_denial_logged, true))
    m_context.log(fmt::format("{}: if the step that follows this job vanishes, nothing ends the training", answer.error().error.message));
  read_later();
}

}  // namespace trainstep::agent
