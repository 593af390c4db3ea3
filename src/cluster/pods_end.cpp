// SPDX-License-Identifier: Apache-2.0
#include "cluster/pods_end.h"

#include <algorithm>
#include <utility>

#include "cluster/objects.h"
#include "job_types/job_type.h"

namespace trainstep::cluster {
namespace {

constexpr Duration pods_interval{1'000};
constexpr int told_after = 5;  // looks

}  // namespace

PodsEnd::PodsEnd(kube::Client& client, const Submitted& job, const plan::Plan& plan, Duration timeout, Sink sink)
    : m_client(client),
      m_index(job_types::find(plan.job_type), job.resource, plan.job_name, job_types::find(plan.job_type).replicas(plan)),
      m_selector(job_types::find(plan.job_type).pods(plan.job_name, job.resource, "", -1)),
      m_name_space(text(metadata_of(job.object), "namespace")),
      m_uid(uid_of(job.object)),
      m_created(text(metadata_of(job.object), "creationTimestamp")),
      m_timeout(timeout),
      m_sink(std::move(sink)) {
  look();
}

void PodsEnd::look() {
  m_call = m_client.list({"v1", "pods", m_name_space, "", ""}, {{"labelSelector", m_selector}}, {m_timeout},
                         [this](const kube::Answer& answer) { looked(answer); }, {.trim = job_types::trim_pod});
}

void PodsEnd::looked(const kube::Answer& answer) {
  const auto done = [this](std::optional<kube::ApiError> why) { std::exchange(m_sink.done, nullptr)(why); };  // the callback may destroy this object
  if (!answer) return done(answer.error());
  const auto& items = answer->at("items").get_ref<const Json::array_t&>();
  const auto left = std::ranges::find_if(items, [this](const Json& pod) { return m_index.member_of(pod, m_uid, m_created).has_value(); });
  if (left == items.end()) return done(std::nullopt);
  if (++m_looks == told_after && m_sink.remains) m_sink.remains(text(metadata_of(*left), "name"));
  m_next = m_client.loop().timer(pods_interval, [this] { look(); });
}

}  // namespace trainstep::cluster
