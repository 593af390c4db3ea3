// Session: the job of an earlier attempt, if what a new one would need cannot be read, or not yet. It says itself where its data are.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/job_data.h"
#include "cluster/session.h"
#include "objectstore/provider.h"

namespace trainstep::cluster {
namespace {

constexpr Duration earlier_timeout{300'000};

}  // namespace

// `why`: what could not be read; unset: it is still being read.
void Session::look_without(std::optional<Error> why) {
  if (m_plan || m_over) return;
  if (why) m_failed = std::move(why);
  const auto plan = m_options.make_plan(m_facts, m_job_name_space);
  const bool out_of_reach = m_elsewhere && !m_remote;
  if (plan && !plan->fresh_run && !out_of_reach && !m_options.existing) {
    const auto looked = [this, began = m_loop.now()](const JobSearch::Answer& found) { looked_without(found, began); };
    m_search = std::make_unique<JobSearch>(m_remote ? *m_remote : m_home, *plan, m_job_name_space, std::nullopt, looked,
                                           kube::Retry{earlier_timeout, m_options.pod.name.empty()});
    return;
  }
  if (!m_failed) return;
  auto error = plan ? *m_failed : plan.error();
  if (out_of_reach && plan && !plan->fresh_run) error.message += "; a job of an earlier attempt may still exist in the cluster that the Secret names";
  finish_early(result::from_error(error));
}

void Session::looked_without(const JobSearch::Answer& found, Time began) {
  if (m_over || m_plan) return;
  if (found && *found) return found_without((*found)->object);
  if (m_early && m_configured)
    if (auto plan = m_options.make_plan(m_facts, m_job_name_space)) {
      m_kubeflow_store.reset();
      return follow_plan(std::move(*plan));  // which says so
    }
  if (!m_failed) return;
  auto error = *m_failed;
  // Nobody has answered, and now somebody does.
  if (found && error.kind == ErrorKind::unavailable && m_loop.now() - began > slow) {
    m_search.reset();
    return read_again();
  }
  if (!found) {
    error.message += fmt::format("; whether a job of this run exists is unknown: {}", found.error().error.message);
    if (found.error().error.kind == ErrorKind::unavailable) error.kind = ErrorKind::unavailable;
  } else if (!m_configured) {
    error.message += "; if the Secret named another cluster, a job of an earlier attempt may still exist there";
  }
  finish_early(result::from_error(error));
}

void Session::found_without(const Json& job) {
  auto plan = m_options.make_plan(m_facts, m_job_name_space);
  if (!plan) return finish_early(result::from_error(plan.error()));
  const auto before = m_job_facts;
  auto earlier = route_of(job);
  if (earlier.folder) m_job_facts.folder = std::move(earlier.folder);
  m_job_facts.known_stores = std::move(earlier.stores);
  auto routed = *plan;
  if (const auto done = route(routed); !done) {
    m_job_facts = before;
    if (m_early) return follow_without(std::move(*plan), done.error());
    if (!m_failed) return;
    return finish_early(
        result::from_error({m_failed->kind, fmt::format("{}; {} ({})", m_failed->message, what_may_be_left(), done.error().message)}));
  }
  if (m_failed || m_early) return follow_without(std::move(routed), m_failed.value_or(Error{}));
  const auto shared = std::make_shared<plan::Plan>(std::move(routed));
  judge_earlier(job, *shared, [this, shared, before](Existing existing) {
    if (m_over || m_plan) return;
    if (m_early || m_failed || existing == Existing::earlier_attempt || existing == Existing::later_attempt)
      return follow_without(std::move(*shared), m_failed.value_or(Error{ErrorKind::unavailable, m_reading + " is not available yet"}));
    m_job_facts = before;  // it would be created again, or is refused
  });
}

// From now on answers to what is being read are not awaited.
void Session::follow_without(plan::Plan plan, Error why) {
  m_kubeflow_store.reset();
  m_without = std::move(why);
  follow_plan(std::move(plan));
}

// Its endpoint is the one that has answered first. The job of an earlier attempt may have found another one.
void Session::prefer_earlier_store() {
  const auto plan = m_options.make_plan(m_facts, m_job_name_space);
  if (!plan || plan->fresh_run) return plan_and_run();
  const auto looked = [this](const JobSearch::Answer& found) {
    if (m_over || m_plan) return;
    const auto earlier = found && *found ? route_of((*found)->object).folder : std::nullopt;
    auto& store = m_job_facts.folder->store;
    const auto is_own = [&](std::string_view own) { return earlier->store.endpoint == fmt::format("http://{}", own); };
    if (earlier && earlier->uri == m_job_facts.folder->uri && earlier->store.endpoint != store.endpoint &&
        std::ranges::any_of(objectstore::own_endpoints, is_own)) {
      store.endpoint = earlier->store.endpoint;
      say(fmt::format("the job of an earlier attempt uses {}", store.endpoint));
    }
    plan_and_run();
  };
  m_store_search =
      std::make_unique<JobSearch>(m_home, *plan, m_job_name_space, std::nullopt, looked, kube::Retry{earlier_timeout, m_options.pod.name.empty()});
}

std::string Session::outputs_wait(const Error& why) const {
  return fmt::format("a job of this run exists; {}: {}", m_plan->data.downloads.empty() ? "following it" : "its outputs cannot be fetched yet",
                     why.message);
}

}  // namespace trainstep::cluster
