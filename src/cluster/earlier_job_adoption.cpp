// SPDX-License-Identifier: Apache-2.0
#include "cluster/earlier_job_adoption.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "cluster/job_data.h"

namespace trainstep::cluster {

EarlierJobAdoption::EarlierJobAdoption(Context context, Sink sink) : m_context(std::move(context)), m_sink(std::move(sink)) {}

void EarlierJobAdoption::look_after(Duration delay) {
  m_timer = m_context.loop.timer(delay, [this] { look({}); });
}

void EarlierJobAdoption::leave() {
  m_left = true;
  m_timer.cancel();
}

void EarlierJobAdoption::look(std::optional<Error> why) {
  if (m_left) return;
  if (why) m_failed = std::move(why);
  const auto plan = m_context.make_plan();
  const bool out_of_reach = m_context.place.is_out_of_reach();
  if (plan && !plan->fresh_run && !out_of_reach && !m_context.is_observer)
    return m_context.job.look(*plan, [this, began = m_context.loop.now()](const JobSearch::Answer& found) { looked(found, began); });
  if (!m_failed) return;
  auto error = plan ? *m_failed : plan.error();
  if (out_of_reach && plan && !plan->fresh_run) error.message += "; a job of an earlier attempt may still exist in the cluster that the Secret names";
  m_sink.failed(std::move(error));
}

void EarlierJobAdoption::looked(const JobSearch::Answer& found, Time began) {
  if (m_left) return;
  if (found) {
    const auto& job = *found;
    if (job) return take(job->object);
  }
  if (m_stopped && m_context.preparation.is_configured())
    if (auto plan = m_context.make_plan()) return m_sink.follow(std::move(*plan), {});  // which says so
  if (!m_failed) return;
  auto error = *m_failed;
  // No server responded before, and now one does.
  if (found && error.kind == ErrorKind::unavailable && m_context.loop.now() - began > slow) {
    m_failed.reset();
    return m_sink.read_again();
  }
  if (!found) {
    error.message += fmt::format("; cannot tell whether a job of this run exists: {}", found.error().error.message);
    if (found.error().error.kind == ErrorKind::unavailable) error.kind = ErrorKind::unavailable;
  } else if (!m_context.preparation.is_configured()) {
    error.message += "; if the Secret named another cluster, a job of an earlier attempt may still exist there";
  }
  m_sink.failed(std::move(error));
}

void EarlierJobAdoption::take(const Json& job) {
  auto plan = m_context.make_plan();
  if (!plan) return m_sink.failed(plan.error());
  auto& place = m_context.place;
  const auto before = place.facts();
  auto earlier = route_of(job);
  auto facts = before;
  if (earlier.folder) facts.folder = std::move(earlier.folder);
  facts.known_stores = std::move(earlier.stores);
  place.set_facts(std::move(facts));
  auto routed = *plan;
  if (const auto done = place.route(routed); !done) {
    place.set_facts(before);
    return unrouted(std::move(*plan), done.error());
  }
  if (m_failed || m_stopped) return m_sink.follow(std::move(routed), m_failed.value_or(Error{}));
  const auto shared = std::make_shared<plan::Plan>(std::move(routed));
  m_context.job.judge(job, *shared, [this, shared, before](Existing existing) {
    if (m_left) return;
    if (m_stopped || m_failed || existing == Existing::earlier_attempt || existing == Existing::later_attempt)
      return m_sink.follow(std::move(*shared),
                           m_failed.value_or(Error{ErrorKind::unavailable, m_context.preparation.reading() + " is not available yet"}));
    m_context.place.set_facts(before);  // it would be created again, or is refused
  });
}

void EarlierJobAdoption::unrouted(plan::Plan plan, const Error& why) {
  if (m_stopped) return m_sink.follow(std::move(plan), why);
  if (m_failed) m_sink.failed({m_failed->kind, fmt::format("{}; {} ({})", m_failed->message, m_context.what_may_be_left(), why.message)});
}

}  // namespace trainstep::cluster
