// Looks for the job of a run by its name, if nothing is known of it yet.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "job_types/job_type.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

class JobSearch {
 public:
  struct Found {
    job_types::Resource resource;
    Json object;
  };
  // nullopt: no resource of the job type has an object of that name, or it belongs to another run.
  using Answer = tl::expected<std::optional<Found>, kube::ApiError>;
  // Looks once, except for `retry`, with which odd answers are asked again for some seconds, too; calls `done` once, from the loop. `client` must
  // outlive it. `doubts_absence`: that the resource is not served is an odd answer as well; an API server that has just started knows no custom
  // resources yet. `served`: the resource that is known to be served; otherwise all candidates of the job type.
  JobSearch(kube::Client& client, const plan::Plan& plan, std::string name_space, std::optional<job_types::Resource> served,
            std::function<void(Answer)> done, kube::Retry retry = {Duration(0)}, bool doubts_absence = false);
  JobSearch(const JobSearch&) = delete;
  JobSearch& operator=(const JobSearch&) = delete;

 private:
  void look(std::size_t candidate);

  kube::Client& m_client;
  std::string m_job, m_run, m_name_space;
  std::vector<job_types::Resource> m_candidates;
  bool m_served;  // it is known that the only candidate is served
  std::function<void(Answer)> m_done;
  kube::Retry m_retry;
  bool m_doubts_absence;
  kube::PendingCall m_call;
  Timer m_timer;
  int m_odd_answers = 0;
};

}  // namespace trainstep::cluster
