// A job that is left to the next attempt of its step, and what the one before has left (docs/adr/0021).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cluster/backend.h"

namespace trainstep::cluster {
namespace {

// How long a job waits for the next attempt of its step.
constexpr Duration kept_for = std::chrono::hours(1);
// Of the time that is left before SIGKILL: for the words after the last answer.
constexpr Duration for_last_words{1'000};
constexpr Duration usual_grace{30'000};
// How often it is tried to take away the deadline of a job that is followed already: at most 60 times in the hour that it has.
constexpr Duration next_lift{60'000};

}  // namespace

// Under a second there is none to spare.
Duration ClusterBackend::time_left() const {
  const auto left = m_dies_at ? std::clamp(std::chrono::duration_cast<Duration>(*m_dies_at - m_client.loop().now()), Duration{0}, usual_grace * 1'000)
                              : usual_grace;
  return left - std::min(for_last_words, left / 4);
}

// Half of the time that is left is for the deadline; what cannot be given one by then is deleted in the other half, unless another attempt is sure.
// KFP's launcher leaves time for one of them.
void ClusterBackend::keep_job(const follow::KeepJob& /*order*/) {
  stop_keeping();
  m_watches.clear();  // what they cannot see any more must not end the keeping
  m_keep_wanted = true;
  m_removal_ends.set(time_left());
  m_keep_timer =
      m_client.loop().after(m_facts.launcher ? time_left() : time_left() / 2, [this] { cannot_keep("no answer in the time that is left"); });
  m_submitted ? lease_job() : find_job();
}

void ClusterBackend::stop_keeping() {
  for (auto* timer : {&m_keep_timer, &m_lift_timer}) m_client.loop().cancel(std::exchange(*timer, 0));
  m_lease.reset();
}

// Our own clock may be wrong; what was read of our pod's end is the cluster's.
void ClusterBackend::lease_job() { try_to_lease(1); }

// Whatever is answered, only that there is no such job ends it before its time.
void ClusterBackend::try_to_lease(int tries) {
  const auto now = std::max(m_ends_since.value_or(m_client.loop().now()), m_client.loop().now());
  const auto length = kept_for + m_facts.retry_pause;
  m_lease = std::make_unique<Lease>(m_client, lease_of_job(), m_plan.options.run_policy.active_deadline);
  m_lease->set(now, m_started, length, {Duration(0)}, [this, tries, until = now + length](const std::optional<kube::ApiError>& problem) {
    if (problem && !kube::tells_absent(*problem, m_plan.job_name)) {
      m_lease_problem = problem->error.message;
      m_timer = m_client.loop().after(removal_pause(tries, *problem), [this, tries] { try_to_lease(tries + 1); });
      return;
    }
    if (!problem) tell(fmt::format("if no attempt takes it up by {}, the job ends", to_rfc3339(until)));
    kept();
  });
}

Lease::Job ClusterBackend::lease_of_job() const { return {m_resource, m_name_space, m_plan.job_name, m_uid}; }

void ClusterBackend::kept() {
  m_client.loop().cancel(std::exchange(m_keep_timer, 0));
  emit(follow::JobKept{});
}

void ClusterBackend::cannot_keep(std::string why) {
  stop_keeping();
  m_search.reset();
  m_client.loop().cancel(m_timer);
  if (!m_lease_problem.empty()) why = m_lease_problem;
  if (m_facts.retry == Retry::follows) {
    if (m_submitted) tell(fmt::format("the job has no deadline: {}", why));
    return kept();
  }
  m_keep_wanted = false;
  emit(follow::BackendFailed{{ErrorKind::unavailable, std::move(why)}});
}

// SIGKILL is near: what is not done by now is said.
void ClusterBackend::out_of_time() {
  m_keep_timer = 0;
  if (m_gone || !m_removal_wanted) return;
  m_removal.reset();
  m_search.reset();
  m_client.loop().cancel(m_timer);
  emit(follow::BackendFailed{{ErrorKind::unavailable, "the API server has not taken its deletion in the time that was left"}});
}

// It is followed all the same: it is the one job of this run. Until the deadline goes, it may end by it.
void ClusterBackend::follow_with_deadline(const Error& why) {
  tell(fmt::format(
      "the deadline that the attempt before has left the job with could not be taken away, it may end by it; trying again every minute: {}",
      why.message));
  lift_later();
}

void ClusterBackend::lift_later() {
  m_lift_timer = m_client.loop().after(next_lift, [this] {
    m_lift_timer = 0;
    if (m_over || m_gone) return;
    m_lease = std::make_unique<Lease>(m_client, lease_of_job(), m_plan.options.run_policy.active_deadline);
    m_lease->lift({Duration(0)}, [this](const std::optional<kube::ApiError>& problem) {
      if (problem) return lift_later();
      tell("the deadline that the attempt before has left the job with is taken away");
    });
  });
}

}  // namespace trainstep::cluster
