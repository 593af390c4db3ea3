// SPDX-License-Identifier: Apache-2.0
#include "cluster/job_search.h"

#include <utility>

#include "cluster/objects.h"
#include "cluster/ownership.h"

namespace trainstep::cluster {
namespace {

constexpr int max_unexpected_responses = 5;  // about ten seconds
constexpr int max_doubted_responses = 7;     // half a minute: so long an API server may start

}  // namespace

JobSearch::JobSearch(kube::Client& client, const plan::Plan& plan, std::string name_space, std::optional<job_types::Resource> served,
                     std::function<void(Answer)> done, kube::Retry retry, bool doubts_absence)
    : m_client(client),
      m_job(plan.job_name),
      m_run(plan.run_id),
      m_name_space(std::move(name_space)),
      m_served(served.has_value()),
      m_done(std::move(done)),
      m_retry(retry),
      m_doubts_absence(doubts_absence) {
  m_candidates = served ? std::vector{*served} : job_types::find(plan.job_type).resources;
  look(0);
}

// A resource that is not served here responds 404 as well, and so may something between us and the API server.
void JobSearch::look(std::size_t candidate) {
  const auto resource = m_candidates[candidate];
  const kube::Path path{std::string(resource.group_version), std::string(resource.plural), m_name_space, m_job, ""};
  m_call = m_client.get(path, {}, m_retry, [this, candidate, resource](kube::Answer answer) {
    if (answer && uid_of(*answer).empty()) answer = tl::unexpected(kube::not_the_servers("get " + m_job + ": the answer is not an object"));
    const auto done = std::exchange(m_done, nullptr);  // the callback may destroy this object
    if (answer) {
      const bool ours = is_of_run(*answer, m_run);
      return done(ours ? std::optional(Found{resource, std::move(*answer)}) : std::nullopt);
    }
    const auto& problem = answer.error();
    const bool absent = kube::tells_absent(problem, m_job);  // says an API server that serves the resource
    const bool not_served = !m_served && !absent && kube::tells_not_served(problem);
    const bool odd = not_served ? m_doubts_absence : kube::is_odd(problem, m_job);
    if (odd && m_retry.at_most != Duration(0) && ++m_odd_answers <= (m_doubts_absence ? max_doubted_responses : max_unexpected_responses)) {
      m_done = done;
      m_timer = m_client.loop().timer(m_client.pause(m_odd_answers), [this, candidate] { look(candidate); });
      return;
    }
    if (!absent && !not_served) return done(tl::unexpected(std::move(answer.error())));
    if (candidate + 1 == m_candidates.size()) return done(std::nullopt);
    m_done = done;
    look(candidate + 1);
  });
}

}  // namespace trainstep::cluster
