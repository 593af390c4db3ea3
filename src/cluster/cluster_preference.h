// Which of several clusters gets the job of a step: in the order of preference the first that can start it now, otherwise the first that can take it
// at all. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace trainstep::cluster {

class ClusterPreference {
 public:
  // The names of Secrets, as in cluster_configuration_secret; none: the cluster of the step.
  explicit ClusterPreference(std::vector<std::string> secrets);

  [[nodiscard]] bool has_several() const { return m_candidates.size() > 1; }
  [[nodiscard]] std::vector<std::string> secrets() const;
  // Of the current candidate; empty: the cluster of the step.
  [[nodiscard]] const std::string& secret() const { return m_candidates[m_current].secret; }
  // Whether another one is left that could get the job instead of the current one.
  [[nodiscard]] bool has_others() const;
  // The job is in this cluster: there are no others any more.
  void choose(std::size_t candidate);
  // The current one, or that one, cannot take the job.
  void refuse(Error why) { refuse(m_current, std::move(why)); }
  void refuse(std::size_t candidate, Error why);
  [[nodiscard]] bool is_refused() const { return m_candidates[m_current].refusal.has_value(); }
  // The current one can take it, but it would wait there: for a quota, a node, an answer.
  void postpone(std::string why);
  // Goes on to the next one, if any is left.
  bool next();
  // Why the job would wait in the current one; empty: it would not, as far as is known.
  [[nodiscard]] const std::string& wait() const { return m_candidates[m_current].wait; }
  // Why none can take it. If one may be able to later, the error is `unavailable`.
  [[nodiscard]] Error none() const;

 private:
  struct Candidate {
    std::string secret;
    std::optional<Error> refusal{};
    std::string wait{};
  };
  [[nodiscard]] std::optional<std::size_t> successor() const;

  std::vector<Candidate> m_candidates;
  std::size_t m_current = 0;
  bool m_chosen = false;
};

}  // namespace trainstep::cluster
