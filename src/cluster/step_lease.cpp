// SPDX-License-Identifier: Apache-2.0
#include "cluster/step_lease.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace trainstep::cluster {

StepLease::StepLease(kube::Client& client, Job job, std::string holder, Duration interval, Duration length, Log log)
    : m_client(client), m_job(std::move(job)), m_holder(std::move(holder)), m_interval(interval), m_length(length), m_log(std::move(log)) {
  renew();
}

// By the cluster's clock. Its API server accepts a time of exactly this form (metav1.MicroTime).
Json StepLease::object() const {
  auto now = to_rfc3339(m_client.loop().now() + m_client.clock().value_or(Duration{0}));
  now.replace(now.size() - 1, 1, ".000000Z");
  const Json owner = {{"apiVersion", std::string(m_job.resource.group_version)},
                      {"kind", std::string(m_job.resource.kind)},
                      {"name", m_job.name},
                      {"uid", m_job.uid}};
  return {{"apiVersion", "coordination.k8s.io/v1"},
          {"kind", "Lease"},
          {"metadata", {{"name", m_job.name}, {"namespace", m_job.name_space}, {"ownerReferences", {owner}}}},
          {"spec",
           {{"holderIdentity", m_holder},
            {"leaseDurationSeconds", std::chrono::ceil<std::chrono::seconds>(m_length).count()},
            {"renewTime", std::move(now)}}}};
}

void StepLease::renew() {
  m_timer = m_client.loop().timer(m_interval, [this] { renew(); });
  m_call = m_client.apply({"coordination.k8s.io/v1", "leases", m_job.name_space, m_job.name, ""}, object(), {m_interval / 2},
                          [this](const kube::Answer& answer) { renewed(answer); });
}

void StepLease::renewed(const kube::Answer& answer) {
  if (answer) {
    if (std::exchange(m_reported, false)) m_log("the job's Lease is renewed again");
    return;
  }
  if (std::exchange(m_reported, true)) return;
  const auto& problem = answer.error();
  m_log(problem.status == 403 ? fmt::format("{}: if this step vanishes, nothing ends its job", problem.error.message)
                              : fmt::format("cannot renew the job's Lease, whose end would end the job: {}", problem.error.message));
}

}  // namespace trainstep::cluster
