// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster_search.h"

#include <fmt/format.h>

#include <utility>

#include "cluster/secret_credentials.h"

namespace trainstep::cluster {
ClusterSearch::ClusterSearch(Context context, std::function<void(const Found&)> done)
    : m_context(std::move(context)), m_done(std::move(done)), m_candidates(m_context.secrets.size()), m_unsettled(m_candidates.size()) {
  for (std::size_t i = 0; i < m_candidates.size(); ++i) {
    auto& candidate = m_candidates[i];
    candidate.place = m_context.make_place(m_context.secrets[i]);
    candidate.place->take_facts(m_context.facts);
    candidate.job = std::make_unique<EarlierJob>(EarlierJob::Context{*candidate.place, m_context.order, m_context.attempt, m_context.at_shell});
    candidate.call = m_context.home.get(candidate.place->configuration_secret(), {}, secret_retry, [this, i](const kube::Answer& answer) {
      if (!m_left) configured(i, answer);
    });
  }
}

void ClusterSearch::hurry() {
  m_in_haste = true;
  for (auto& candidate : m_candidates) candidate.place->hurry();
}

void ClusterSearch::configured(std::size_t candidate, const kube::Answer& answer) {
  auto& place = *m_candidates[candidate].place;
  const auto& secret = m_context.secrets[candidate];
  auto connected = answer ? place.connect(*answer, m_in_haste) : about_secret(answer.error(), place.step_side().name_space, secret);
  // What is missing of a bucket does not hide the cluster.
  if (!connected && !place.is_remote()) return settle(candidate, std::move(connected.error()));
  if (m_context.fresh) return confirm(candidate);
  if (!m_context.may_be_first || m_in_haste) return look(candidate);
  contact(candidate, [this, candidate] { look(candidate); });
}

void ClusterSearch::contact(std::size_t candidate, std::function<void()> answered) {
  auto& [place, job, first_contact, call] = m_candidates[candidate];
  if (!place->is_remote()) return answered();
  const auto done = [this, candidate, answered = std::move(answered)](std::optional<Error> why) {
    if (m_left) return;
    why ? settle(candidate, std::move(why)) : answered();
  };
  first_contact = std::make_unique<FirstContact>(place->client(), m_context.secrets[candidate], done);
}

void ClusterSearch::look(std::size_t candidate) {
  auto& [place, job, first_contact, call] = m_candidates[candidate];
  if (place->is_remote())
    place->client().on_trouble([this, where = place->where()](const std::string& reason) {
      m_context.log(fmt::format("looking for a job of this run: {}: {}", where,
                                reason.empty() ? "the API server is responding again" : reason + "; trying again"));
    });
  const auto plan = m_context.make_plan(place->name_space());
  if (!plan) return settle(candidate, plan.error());
  const auto looked = [this, candidate](const JobSearch::Answer& found) {
    if (m_left) return;
    if (!found) return settle(candidate, in_context("Secret " + m_context.secrets[candidate], found.error().error));
    if (!*found) return m_context.may_be_first ? settle(candidate, std::nullopt) : confirm(candidate);
    m_found.cluster = candidate;
    finish();
  };
  job->look(*plan, looked, !m_context.may_be_first);
}

// That the API server answers: something in front of it, or another server at its address, may have said that there is no job.
void ClusterSearch::confirm(std::size_t candidate) {
  contact(candidate, [this, candidate] { settle(candidate, std::nullopt); });
}

void ClusterSearch::settle(std::size_t candidate, std::optional<Error> why) {
  if (why) m_found.unknown.emplace(candidate, std::move(*why));
  if (--m_unsettled == 0) finish();
}

void ClusterSearch::finish() {
  m_left = true;
  for (const auto& candidate : m_candidates)
    if (candidate.place->is_remote()) m_found.left.push_back(candidate.place->client().credentials().server.origin());
  m_done(m_found);
}

}  // namespace trainstep::cluster
