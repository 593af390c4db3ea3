// The claim that was created for a job, when the job goes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cluster/claim_owners.h"
#include "cluster/facts.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

class JobClaim {
 public:
  using Log = std::function<void(std::string text)>;
  // References must outlive it.
  JobClaim(kube::Client& client, const plan::Plan& plan, const Facts& facts, std::string name_space)
      : m_client(client), m_plan(plan), m_facts(facts), m_name_space(std::move(name_space)) {}

  [[nodiscard]] bool exists() const { return !m_plan.pvc_name.empty(); }
  // It is for the next attempt, but has no owner that outlives the job.
  [[nodiscard]] bool is_for_next() const { return exists() && !m_facts.workflow && m_facts.retry != Retry::none; }
  // Before the job with this uid is deleted: the claim stays for the next attempt. Calls `then` once, from the loop.
  void hand_on(const std::string& job_uid, const Log& log, std::function<void()> then);
  // After that: otherwise the claim would stay until the Workflow is deleted. `job` has its apiVersion, kind, name and uid. Calls `then` once, from
  // the loop.
  void release(Json job, Duration timeout, const Log& log, std::function<void()> then);

  void cancel() { m_change.reset(); }

 private:
  [[nodiscard]] kube::Path path() const { return {"v1", "persistentvolumeclaims", m_name_space, m_plan.pvc_name, ""}; }

  static constexpr Duration longest{5'000};

  kube::Client& m_client;
  const plan::Plan& m_plan;
  const Facts& m_facts;
  std::string m_name_space;
  std::unique_ptr<ClaimChange> m_change;
};

}  // namespace trainstep::cluster
