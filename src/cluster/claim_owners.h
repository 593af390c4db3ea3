// The owners of a claim that was created for jobs. Kubernetes' garbage collector removes it with the last of them; so they are all jobs that use it
// and their owners – the Workflow –, because the job of the next attempt uses it as well (docs/cluster.md). Claims of others are never changed.
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
// This program has created it for jobs. One without owners was released by a user, unless it belongs to a run whose job is being recreated.
bool is_made_for_jobs(const Json& claim, const std::string& run);
// The job and its owners, as owners of something else.
Json owners_for(const Json& job);
// It is an earlier job of the same name and kind.
bool is_before(const Json& owner, const Json& job);
// What to report if a change that would let it outlive its job is refused.
std::string goes_with_job(const std::string& claim, const kube::ApiError& problem);
// "Job a-1, Workflow train-x7"
std::string shown_owners(const Json& object);

// Each returns the metadata that the claim is to have instead; null: no change. Pure; any JSON is allowed. `job` uses it from now on. An earlier job
// of that name no longer owns it.
Json joined(const Json& claim, const Json& job);
// The job with this uid is about to be deleted, and another one of its run follows, whose owners will be `heirs`.
Json handed_on(const Json& claim, const std::string& job_uid, const Json& new_owners, const std::string& run);
// No other job follows this one, which is being or has been deleted: its owners no longer keep the claim, unless another job uses it.
Json released(const Json& claim, const Json& job);

// Reads a claim and patches its metadata accordingly.
class ClaimChange {
 public:
  using Change = std::function<Json(const Json& claim)>;  // the metadata; null: none
  // The client must outlive it. Calls `done` once, from the loop; unset: done, or nothing to do, for example because it may not be read.
  ClaimChange(kube::Client& client, kube::Path path, kube::Retry retry, Change change, std::function<void(std::optional<kube::ApiError>)> done);
  ClaimChange(const ClaimChange&) = delete;
  ClaimChange& operator=(const ClaimChange&) = delete;

 private:
  void look();
  void change(const Json& claim);
  void finish(std::optional<kube::ApiError> problem);

  kube::Client& m_client;
  kube::Path m_path;
  kube::Retry m_retry;
  Change m_change;
  std::function<void(std::optional<kube::ApiError>)> m_done;
  kube::PendingCall m_call;
  int m_conflicts = 0;
};

}  // namespace trainstep::cluster
