// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster_preference.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace trainstep::cluster {

ClusterPreference::ClusterPreference(std::vector<std::string> secrets) {
  for (auto& secret : secrets) m_candidates.push_back({std::move(secret)});
  if (m_candidates.empty()) m_candidates.push_back({""});
}

std::vector<std::string> ClusterPreference::secrets() const {
  std::vector<std::string> secrets;
  for (const auto& candidate : m_candidates) secrets.push_back(candidate.secret);
  return secrets;
}

// Those behind the current one first, then the first of those in which the job would wait.
std::optional<std::size_t> ClusterPreference::successor() const {
  if (m_chosen) return std::nullopt;
  const auto begin = m_candidates.begin();
  const auto untried = std::find_if(begin + static_cast<std::ptrdiff_t>(m_current) + 1, m_candidates.end(),
                                    [](const Candidate& candidate) { return !candidate.refusal && candidate.wait.empty(); });
  if (untried != m_candidates.end()) return untried - begin;
  const auto waiting = std::ranges::find_if(m_candidates, [](const Candidate& candidate) { return !candidate.refusal && !candidate.wait.empty(); });
  if (waiting != m_candidates.end() && waiting - begin != static_cast<std::ptrdiff_t>(m_current)) return waiting - begin;
  return std::nullopt;
}

bool ClusterPreference::has_others() const { return successor().has_value(); }

void ClusterPreference::choose(std::size_t candidate) {
  m_current = candidate;
  m_chosen = true;
}

void ClusterPreference::refuse(std::size_t candidate, Error why) { m_candidates[candidate].refusal = std::move(why); }

void ClusterPreference::postpone(std::string why) { m_candidates[m_current].wait = std::move(why); }

bool ClusterPreference::next() {
  const auto next = successor();
  if (!next) return false;
  m_current = *next;
  return true;
}

Error ClusterPreference::none() const {
  std::vector<std::string> reasons;
  auto kind = ErrorKind::input;
  for (const auto& [secret, refusal, wait] : m_candidates) {
    if (!refusal) continue;
    reasons.push_back(refusal->message);
    if (refusal->kind == ErrorKind::unavailable || reasons.size() == 1) kind = refusal->kind;
  }
  return {kind, "no cluster can take the job: " + join(reasons, "; ")};
}

}  // namespace trainstep::cluster
