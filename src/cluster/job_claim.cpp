// SPDX-License-Identifier: Apache-2.0
#include "cluster/job_claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/ownership.h"

namespace trainstep::cluster {

void JobClaim::hand_on(const std::string& job_uid, const Log& log, std::function<void()> then) {
  const auto change = [job_uid, run = m_plan.run_id](const Json& claim) { return handed_on(claim, job_uid, Json::array(), run); };
  m_change = std::make_unique<ClaimChange>(m_client, path(), kube::Retry{longest}, change,
                                           [this, log, then = std::move(then)](const std::optional<kube::ApiError>& problem) {
                                             if (problem) log(goes_with_job(m_plan.pvc_name, *problem));
                                             then();
                                           });
}

void JobClaim::release(Json job, Duration timeout, const Log& log, std::function<void()> then) {
  own(job, m_facts);
  const auto change = [job = std::move(job), run = m_plan.run_id](const Json& claim) {
    return is_made_for_jobs(claim, run) ? released(claim, job) : Json();
  };
  m_change =
      std::make_unique<ClaimChange>(m_client, path(), kube::Retry{std::min(longest, timeout)}, change,
                                    [this, log, then = std::move(then)](const std::optional<kube::ApiError>& refusal) {
                                      if (refusal)
                                        log(fmt::format("claim {} stays until the Workflow is deleted: {}", m_plan.pvc_name, refusal->error.message));
                                      then();
                                    });
}

}  // namespace trainstep::cluster
