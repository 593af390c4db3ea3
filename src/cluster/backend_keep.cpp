// ClusterBackend: keeps a job for the next attempt of its step, and handles what an earlier one has kept (docs/adr/0021).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cluster/backend.h"
#include "cluster/begun.h"
#include "cluster/objects.h"
#include "cluster/ownership.h"
#include "cluster/presence.h"
#include "job_types/job_type.h"

namespace trainstep::cluster {
namespace {

// How long a job waits for the next attempt of its step.
constexpr Duration kept_for = std::chrono::hours(1);
// Part of the time before SIGKILL: for the log lines after the last response.
constexpr Duration for_last_words{1'000};
constexpr Duration usual_grace{30'000};
constexpr int quick_tries = 3;  // to keep a job that changes in the meantime

// As a queue does.
bool is_suspended(const Json& job) {
  const auto* spec = at(&job, "spec");
  const auto* policy = at(spec, "runPolicy");
  const auto* suspended = at(policy != nullptr ? policy : spec, "suspend");
  return suspended != nullptr && *suspended == true;
}

}  // namespace

// Also while it is being removed: a cancel or a limit was about to end it, and then the signal came.
void ClusterBackend::dies_at(Time time) {
  m_dies_at = time;
  if (!m_removal_wanted || m_gone || m_keep_timer) return;
  m_removal_ends.set(time_left() * 3 / 4);
  m_keep_timer = m_client.loop().timer(time_left(), [this] { out_of_time(); });
}

// Nothing of the last second can be spared.
Duration ClusterBackend::time_left() const {
  const auto left = m_dies_at ? std::clamp(std::chrono::duration_cast<Duration>(*m_dies_at - m_client.loop().now()), Duration{0}, usual_grace * 1'000)
                              : usual_grace;
  return left - std::min(for_last_words, left / 4);
}

// Half of the remaining time is for the deadline; if it cannot be set by then, the job is deleted in the other half, unless another attempt is
// certain. KFP's launcher leaves time for only one of them.
void ClusterBackend::keep_job(const follow::KeepJob& /*order*/) {
  stop_keeping();
  m_watches.clear();  // losing sight of the job must not end the keeping
  m_keep_wanted = true;
  m_removal_ends.set(time_left());
  m_keep_timer = m_client.loop().timer(m_facts.launcher ? time_left() : time_left() / 2, [this] { cannot_keep("no answer in the remaining time"); });
  m_submitted ? lease_job() : find_job();
}

void ClusterBackend::stop_keeping() {
  m_keep_timer.cancel();
  m_lift_timer.cancel();
  m_keep_call.cancel();
  m_lease.reset();
  m_lifting = false;
}

// Kubernetes stops the deadline of a suspended job, and restarts it when the job is resumed: it would not end one that waits in a queue. Such a job
// has not done anything that its end could lose.
void ClusterBackend::lease_job() {
  if (!m_taken_over && !m_waits) return try_to_lease(1);
  m_timer = m_client.loop().timer(Duration(0), [this] {
    if (m_removal_wanted) return;
    m_taken_over ? try_to_lease(1) : look_whether_it_waits();
  });
}

// Its watch may be silent without being noticed: it may have been resumed, and be training. Without a response now there may be no time for the
// DELETE.
void ClusterBackend::look_whether_it_waits() {
  m_lift_timer = m_client.loop().timer(time_left() / 4, [this] {
    m_lift_timer = {};
    waits_in_queue();
  });
  m_keep_call = m_client.get(job_path(), {}, {Duration(0)}, [this](const kube::Answer& answer) {
    m_lift_timer.cancel();
    const auto presence = presence_of(answer, m_plan.job_name, m_uid);
    if (presence == Presence::gone && answer) return kept();
    if (presence == Presence::there) know_job(*answer);
    m_waits && !m_taken_over ? waits_in_queue() : try_to_lease(1);
  });
}

void ClusterBackend::waits_in_queue() {
  stop_keeping();
  m_keep_wanted = false;
  emit(follow::BackendFailed{{ErrorKind::unavailable, "it is suspended and has not started: nothing is lost, and no deadline would end it"}});
}

// The cluster's clock counts; what was read about the end of our pod uses it as well. Of all responses only two end this early: that there is no such
// job, and that another attempt follows it – then this one was lost, and its process survived.
void ClusterBackend::try_to_lease(int tries) {
  if (m_taken_over) {
    tell(std::string(is_followed));
    return kept();
  }
  const auto clusters_now = m_client.loop().now() + m_client.clock().value_or(Duration{0});
  const auto now = std::max(m_ends_since.value_or(clusters_now), clusters_now);
  const auto length = kept_for + m_facts.retry_pause;
  m_lease = std::make_unique<Lease>(m_client, lease_of_job(), m_own);
  m_lease->set(now, m_started, length, m_version, {Duration(0)}, [this, tries, until = now + length](const std::optional<kube::ApiError>& problem) {
    if (problem && !kube::tells_absent(*problem, m_plan.job_name)) return lease_failed(tries, *problem);
    if (!problem) tell(fmt::format("if no attempt adopts it by {}, the job ends", to_rfc3339(until)));
    kept();
  });
}

void ClusterBackend::lease_failed(int tries, const kube::ApiError& problem) {
  m_lease_problem = problem.error.message;
  const auto pause = problem.status == 409 && tries <= quick_tries ? Duration(0) : removal_pause(tries, problem);
  m_timer = m_client.loop().timer(pause, [this, tries] { look_before_lease(tries + 1); });
}

// It has changed since it was seen, perhaps because it was adopted, or is over: then there is nothing that a deadline would have to end. Only a PATCH
// can tell that it is gone: a server that is read may be behind one that knows the job.
void ClusterBackend::look_before_lease(int tries) {
  m_keep_call = m_client.get(job_path(), {}, {Duration(0)}, [this, tries](const kube::Answer& answer) {
    const auto presence = presence_of(answer, m_plan.job_name, m_uid);
    if (presence == Presence::gone && answer) return kept();  // its name belongs to another one
    if (presence == Presence::there) {
      know_job(*answer);
      if (is_over(*answer)) return kept();
    }
    try_to_lease(tries);
  });
}

bool ClusterBackend::is_over(const Json& job) const {
  using enum job_types::Judgement::State;
  const auto state = judgement_of(job).state;
  return state == succeeded || state == failed;
}

// A follower of the job at the time it is found is an earlier attempt, whatever caused the look – unless we have created the job.
void ClusterBackend::know_follower(const Json& object) {
  const bool made_by_us = text(at(metadata_of(object), "annotations"), attempt_annotation) == m_attempt;
  m_follower_before = made_by_us ? "" : follower_of(object);
}

bool ClusterBackend::is_taken_over(const Json& object) const {
  if (m_order->is_later(object)) return true;
  const auto follower = follower_of(object);
  return !follower.empty() && follower != m_attempt && follower != m_follower_before;
}

Lease::Job ClusterBackend::lease_of_job() const { return {m_resource, m_name_space, m_plan.job_name, m_uid, m_attempt, m_order->began()}; }

void ClusterBackend::kept() {
  m_keep_timer.cancel();
  emit(follow::JobKept{});
}

void ClusterBackend::cannot_keep(std::string why) {
  stop_keeping();
  m_search.reset();
  m_timer.cancel();
  if (!m_lease_problem.empty()) why = m_lease_problem;
  if (m_facts.retry == Retry::follows) {
    if (m_submitted)
      tell(fmt::format("the job has no deadline: {}", why));
    else if (create_is_out())
      tell(fmt::format("{}, without a deadline", may_appear));
    return kept();
  }
  m_keep_wanted = false;
  emit(follow::BackendFailed{{ErrorKind::unavailable, std::move(why)}});
}

// SIGKILL is near: reports what could not be done.
void ClusterBackend::out_of_time() {
  m_keep_timer = {};
  if (m_gone || !m_removal_wanted) return;
  m_removal.reset();
  m_search.reset();
  m_timer.cancel();
  if (m_deleted) return job_has_gone();
  emit(follow::BackendFailed{{ErrorKind::unavailable, "the API server did not accept its deletion in the remaining time"}});
}

// It is followed nevertheless: it is the only job of this run. Until the deadline is removed, it may end because of it.
void ClusterBackend::follow_with_deadline(const Error& why) {
  tell(fmt::format("cannot remove the deadline set by the previous attempt, which may end the job; trying again every minute: {}", why.message));
  lift_in(next_lift);
}

// Everything that keeping or ending it depends on.
void ClusterBackend::know_job(const Json& object) {
  m_version = text(metadata_of(object), "resourceVersion");
  m_started = from_rfc3339(text(at(&object, "status"), "startTime"));
  m_leased = is_leased(object);
  m_told = outcome_of(object);
  m_begun = m_begun || m_started || m_leased || has_run(object);  // no other was left by an earlier attempt
  m_waits = is_suspended(object) && !m_begun;
  m_own = own_deadline(object, m_plan.options.run_policy.active_deadline);
  m_taken_over = is_taken_over(object);
  m_later = m_order->is_later(object);
}

// A lost attempt may set a deadline at any time: its process need not know that the job is followed.
void ClusterBackend::look_at_keeping(const Json& object) {
  know_job(object);
  const bool followed = !m_looks_on && !m_keep_wanted && !m_removal_wanted && !m_taken_over;
  if (!m_leased || m_over || !followed || m_lifting || m_lift_timer) return;
  lift_in(m_lift_rests.is_set() && !m_lift_rests.passed() ? next_lift : Duration(0));
}

void ClusterBackend::lift_in(Duration pause) {
  m_lift_timer = m_client.loop().timer(pause, [this] {
    m_lift_timer = {};
    if (m_leased && !m_over && !m_gone && !m_taken_over) lift();
  });
}

void ClusterBackend::lift() {
  m_lift_rests.set(next_lift);
  m_lifting = true;
  m_lease = std::make_unique<Lease>(m_client, lease_of_job(), m_own);
  m_lease->lift(m_version, {Duration(0)}, [this](const std::optional<kube::ApiError>& problem) {
    m_lifting = false;
    if (problem) return lift_in(next_lift);
    m_leased = false;
    tell("removed the deadline set by another attempt");
  });
}

}  // namespace trainstep::cluster
