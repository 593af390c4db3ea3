// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster_choice.h"

#include <fmt/format.h>

#include <utility>

namespace trainstep::cluster {

ClusterChoice::ClusterChoice(Context context, std::vector<std::string> secrets, Sink sink)
    : m_context(std::move(context)), m_preference(std::move(secrets)), m_sink(std::move(sink)) {}

// A run with a new id: no attempt came before this one.
bool ClusterChoice::is_fresh() const {
  const auto plan = m_context.make_plan(m_context.name_space);
  return plan && plan->fresh_run;
}

// By the name of our node of the Workflow, which numbers the attempts.
bool ClusterChoice::may_be_first() const { return m_context.in_pod && !m_context.facts.node_name.empty() && m_context.facts.attempts_before == 0; }

void ClusterChoice::begin(AttemptOrder& order) {
  if (!has_several()) return m_sink.use();
  ClusterSearch::Context context{.home = m_context.home,
                                 .order = order,
                                 .facts = m_context.facts,
                                 .secrets = m_preference.secrets(),
                                 .attempt = m_context.attempt,
                                 .at_shell = !m_context.in_pod,
                                 .fresh = is_fresh(),
                                 .may_be_first = may_be_first(),
                                 .make_place = [this](const auto& secret) { return m_context.make_place(secret, [](const auto& /*line*/) {}); },
                                 .make_plan = m_context.make_plan,
                                 .log = m_context.log};
  m_search = std::make_unique<ClusterSearch>(
      std::move(context), [this](const ClusterSearch::Found& found) { m_context.loop.post(m_lifetime.bind([this, found] { searched(found); })); });
  if (m_in_haste) m_search->hurry();
}

void ClusterChoice::hurry() {
  m_in_haste = true;
  if (m_search) m_search->hurry();
}

void ClusterChoice::leave() {
  m_left = true;
  if (m_search) m_search->leave();
}

void ClusterChoice::searched(const ClusterSearch::Found& found) {
  if (m_left) return;
  m_search.reset();
  for (const auto& origin : found.left) m_context.leaves(origin);
  if (found.cluster) {
    m_preference.choose(*found.cluster);
    return m_sink.use();
  }
  if (m_stopped) return m_sink.no_job(found.unknown.empty());
  const bool fresh = is_fresh();
  for (const auto& [cluster, why] : found.unknown) {
    if (!fresh && !may_be_first()) return m_sink.failed({ErrorKind::unavailable, "cannot tell whether a job of this run exists: " + why.message});
    m_preference.refuse(cluster, why);
    m_context.log(why.message + (fresh ? "" : "; if this is not the first attempt, its job may still exist there"));
  }
  if (m_preference.is_refused() && !m_preference.next()) return m_sink.failed(m_preference.none());
  m_sink.use();
}

void ClusterChoice::refuse(const Error& why) {
  if (!has_several()) return m_sink.failed(why);
  m_preference.refuse(why);
  go_on(why.message);
}

void ClusterChoice::postpone(const std::string& why) {
  m_preference.postpone(why);
  go_on(fmt::format("Secret {}: the job would wait: {}", secret(), why));
}

// Deferred: this may be called from what is to be replaced.
void ClusterChoice::go_on(const std::string& why) {
  if (m_stopped || !m_preference.next()) return m_sink.failed(m_preference.none());
  m_context.log(fmt::format("{}; trying Secret {}", why, secret()));
  m_context.loop.post(m_lifetime.bind([this] {
    if (!m_left) m_sink.use();
  }));
}

void ClusterChoice::keep(const std::string& where) {
  if (!has_several()) return;
  const auto& wait = m_preference.wait();
  m_context.log(fmt::format("using the cluster of Secret {} ({}){}", secret(), where, wait.empty() ? "" : "; the job will wait: " + wait));
}

}  // namespace trainstep::cluster
