// SPDX-License-Identifier: Apache-2.0
#include "cluster/job_keeping.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cluster/objects.h"
#include "cluster/ownership.h"
#include "cluster/presence.h"
#include "cluster/removal.h"
#include "job_types/job_type.h"

namespace trainstep::cluster {
namespace {

// How long a job waits for the next attempt of its step.
constexpr Duration kept_for = std::chrono::hours(1);
constexpr int quick_tries = 3;  // for a job that changes in the meantime

}  // namespace

Duration kept_length(const Facts& facts) { return kept_for + facts.retry_pause; }

JobKeeping::JobKeeping(kube::Client& client, const plan::Plan& plan, const Facts& facts, const TimeLeft& time, SeenJob& seen,
                       std::function<KeepDeadline::Job()> job, std::optional<Time> ended, Sink sink)
    : m_client(client), m_plan(plan), m_facts(facts), m_time(time), m_seen(seen), m_job(std::move(job)), m_ended(ended), m_sink(std::move(sink)) {}

kube::Path JobKeeping::path() const {
  const auto job = m_job();
  return {std::string(job.resource.group_version), std::string(job.resource.plural), job.name_space, job.name, ""};
}

// Kubernetes stops the deadline of a suspended job, and restarts it when the job is resumed: it would not end one that waits in a queue. Such a job
// has not done anything that its end could lose.
void JobKeeping::begin() {
  if (!m_seen.is_taken_over() && !m_seen.waits()) return set_deadline(1);
  m_timer = m_client.loop().timer(Duration(0), [this] { m_seen.is_taken_over() ? set_deadline(1) : check_suspended(); });
}

// Its watch may be silent without being noticed: it may have been resumed, and be training. Without a response now there may be no time for the
// DELETE.
void JobKeeping::check_suspended() {
  m_timer = m_client.loop().timer(m_time.left() / 4, [this] { m_sink.waits_in_queue(); });
  m_call = m_client.get(path(), {}, {Duration(0)}, [this](const kube::Answer& answer) {
    m_timer.cancel();
    const auto job = m_job();
    const auto presence = presence_of(answer, job.name, job.uid);
    if (presence == Presence::gone && answer) return m_sink.kept();
    if (presence == Presence::there) m_seen.take(*answer);
    m_seen.waits() && !m_seen.is_taken_over() ? m_sink.waits_in_queue() : set_deadline(1);
  });
}

// The cluster's clock counts; what was read about the end of our pod uses it as well. Of all responses only two end this early: that there is no such
// job, and that another attempt follows it – then this one was lost, and its process survived.
void JobKeeping::set_deadline(int tries) {
  if (m_seen.is_taken_over()) {
    m_sink.log(std::string(is_followed));
    return m_sink.kept();
  }
  const auto clusters_now = m_client.loop().now() + m_client.clock().value_or(Duration{0});
  const auto now = std::max(m_ended.value_or(clusters_now), clusters_now);
  const auto length = kept_length(m_facts);
  m_keep_deadline = std::make_unique<KeepDeadline>(m_client, m_job(), m_seen.deadline());
  m_keep_deadline->set(now, m_seen.started(), length, m_seen.version(), {Duration(0)},
                       [this, tries, until = now + length](const std::optional<kube::ApiError>& problem) {
                         if (problem && !kube::tells_absent(*problem, m_plan.job_name)) return failed(tries, *problem);
                         if (!problem) m_sink.log(fmt::format("if no attempt adopts it by {}, the job ends", to_rfc3339(until)));
                         m_sink.kept();
                       });
}

void JobKeeping::failed(int tries, const kube::ApiError& problem) {
  m_problem = problem.error.message;
  const auto pause = problem.status == 409 && tries <= quick_tries ? Duration(0) : retry_pause(m_client, tries, problem);
  m_timer = m_client.loop().timer(pause, [this, tries] { look_before_next(tries + 1); });
}

// It has changed since it was seen, perhaps because it was adopted, or is over: then there is nothing that a deadline would have to end. Only a PATCH
// can tell that it is gone: a server that is read may be behind one that knows the job.
void JobKeeping::look_before_next(int tries) {
  m_call = m_client.get(path(), {}, {Duration(0)}, [this, tries](const kube::Answer& answer) {
    const auto job = m_job();
    const auto presence = presence_of(answer, job.name, job.uid);
    if (presence == Presence::gone && answer) return m_sink.kept();  // its name belongs to another one
    if (presence == Presence::there) {
      m_seen.take(*answer);
      if (is_over(*answer)) return m_sink.kept();
    }
    set_deadline(tries);
  });
}

bool JobKeeping::is_over(const Json& job) const {
  using enum job_types::Judgement::State;
  const auto state = job_types::find(m_plan.job_type).judge(job).state;
  return state == succeeded || state == failed;
}

}  // namespace trainstep::cluster
