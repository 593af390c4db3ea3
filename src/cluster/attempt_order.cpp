// SPDX-License-Identifier: Apache-2.0
#include "cluster/attempt_order.h"

#include <chrono>
#include <utility>

#include "cluster/ownership.h"
#include "cluster/presence.h"

namespace trainstep::cluster {
namespace {

constexpr Duration pod_timeout{60'000};
constexpr Duration question_timeout{10'000};

// This process runs in it, so the status was set by a component that lost the pod.
bool has_ended(const Json& pod) {
  const auto phase = text(at(&pod, "status"), "phase");
  return phase == "Failed" || phase == "Succeeded";
}

// Not ended, not being deleted, and not about to be.
bool is_whole(const Json& pod) {
  const auto* status = at(&pod, "status");
  if (const auto* conditions = at(status, "conditions"); conditions != nullptr && conditions->is_array())
    for (const auto& condition : *conditions)
      if (text(&condition, "type") == "DisruptionTarget" && text(&condition, "status") == "True") return false;
  return at(metadata_of(pod), "deletionTimestamp") == nullptr && !has_ended(pod);
}

}  // namespace

bool AttemptOrder::is_later(const Json& job) const { return is_of_later_attempt(job, m_began); }

void AttemptOrder::judge(const Json& job, const std::function<void(bool)>& done) {
  if (!is_later(job)) return done(false);
  if (m_facts.pod_uid.empty()) return done(true);
  const auto theirs = began_by(job);
  m_call = m_client.get({"v1", "pods", m_facts.name_space, m_facts.pod, ""}, {}, {pod_timeout}, [=, this](const kube::Answer& pod) {
    const bool ours = presence_of(pod, m_facts.pod, m_facts.pod_uid) == Presence::there && is_whole(*pod);
    if (ours) m_began = *theirs + std::chrono::seconds(1);
    done(!ours);
  });
}

void AttemptOrder::ask_replaced(const std::function<void(Result<bool>)>& done) {
  if (!m_began || m_facts.pod_uid.empty()) return done(false);
  m_get = m_client.get({"v1", "pods", m_facts.name_space, m_facts.pod, ""}, {}, {question_timeout}, [=, this](const kube::Answer& pod) {
    const auto presence = presence_of(pod, m_facts.pod, m_facts.pod_uid);
    if (presence == Presence::there) return done(has_ended(*pod));
    if (presence == Presence::gone) return done(true);
    done(Error{ErrorKind::unavailable, pod ? "the response is not a pod" : pod.error().error.message});
  });
}

}  // namespace trainstep::cluster
