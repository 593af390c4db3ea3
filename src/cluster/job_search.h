// Whether there is a job of a run: by its name, where nothing is known of it yet.
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
  // Nothing: no resource of the kind has an object of that name, or it is another's.
  using Answer = tl::expected<std::optional<Found>, kube::ApiError>;
  // Looks once, and no second time but for `retry`; `done` is called once, from the loop. `client` must outlive it. `served`: the one that is known
  // to be; else all that the kind may be.
  JobSearch(kube::Client& client, const plan::Plan& plan, std::string name_space, std::optional<job_types::Resource> served,
            std::function<void(Answer)> done, kube::Retry retry = {Duration(0)});
  JobSearch(const JobSearch&) = delete;
  JobSearch& operator=(const JobSearch&) = delete;
  ~JobSearch();

 private:
  void look(std::size_t candidate);

  kube::Client& m_client;
  std::string m_job, m_run, m_name_space;
  std::vector<job_types::Resource> m_candidates;
  bool m_served;  // it is known that the one candidate is
  std::function<void(Answer)> m_done;
  kube::Retry m_retry;
  kube::Client::CallId m_call = 0;
};

}  // namespace trainstep::cluster
