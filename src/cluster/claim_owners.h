// Who owns a claim that was made for jobs. Kubernetes' garbage collector removes it when the last of them has gone; so each job that uses it is one,
// and whoever owns the job – its Workflow –, as the next attempt's job uses it, too (docs/cluster.md). Nobody else's claim is changed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "data/json.h"
#include "kube/client.h"

namespace trainstep::cluster {

// The labels of such a claim.
Json claim_labels(const std::string& run);
// This program has made it for jobs. One without owners is whose that took them away, but for that of a run whose job is just made anew.
bool is_made_for_jobs(const Json& claim, const std::string& run);
// The job, and those who own it, as owners of something else.
Json owners_for(const Json& job);
// It is of a job that had the name and kind of this one before.
bool is_before(const Json& owner, const Json& job);
// What to say where a change is refused that would let it outlive its job.
std::string goes_with_job(const std::string& claim, const kube::ApiError& problem);
// "Job a-1, Workflow train-x7"
std::string shown_owners(const Json& object);

// Each is the metadata that the claim is to have instead; null: nothing is to be changed. Pure; any JSON is allowed.
// `job` uses it from now on. An earlier job of that name owns it no more.
Json joined(const Json& claim, const Json& job);
// The job with this uid is about to be deleted, and another one of its run follows, which `heirs` will own.
Json handed_on(const Json& claim, const std::string& job_uid, const Json& heirs, const std::string& run);
// No other job follows this one, which goes, or has gone: its owners keep the claim no more, unless another job uses it.
Json released(const Json& claim, const Json& job);

// Looks at a claim and patches its metadata as it then is.
class ClaimChange {
 public:
  using Change = std::function<Json(const Json& claim)>;  // the metadata; null: none
  // The client must outlive it. `done`: once, from the loop; unset: done, or there is nothing to do, as where it may not be read.
  ClaimChange(kube::Client& client, kube::Path path, kube::Retry retry, Change change, std::function<void(std::optional<kube::ApiError>)> done);
  ClaimChange(const ClaimChange&) = delete;
  ClaimChange& operator=(const ClaimChange&) = delete;
  ~ClaimChange() { m_client.cancel(m_call); }

 private:
  void look();
  void change(const Json& claim);
  void finish(std::optional<kube::ApiError> problem);

  kube::Client& m_client;
  kube::Path m_path;
  kube::Retry m_retry;
  Change m_change;
  std::function<void(std::optional<kube::ApiError>)> m_done;
  kube::Client::CallId m_call = 0;
  int m_conflicts = 0;
};

}  // namespace trainstep::cluster
