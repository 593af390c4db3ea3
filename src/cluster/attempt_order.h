// Which of two attempts of a step is the later one, which owns the job. A lost attempt may reach its job after the next one has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "cluster/facts.h"
#include "kube/client.h"

namespace trainstep::cluster {

class AttemptOrder {
 public:
  // `client`: of the cluster that the step runs in. References must outlive it.
  AttemptOrder(kube::Client& client, const Facts& facts) : m_client(client), m_facts(facts), m_began(facts.began) {}
  AttemptOrder(const AttemptOrder&) = delete;
  AttemptOrder& operator=(const AttemptOrder&) = delete;

  // The start time that a job created or followed by this attempt gets (began_annotation). Unset: our pod was not created by a Workflow, or cannot be
  // read.
  [[nodiscard]] std::optional<Time> began() const { return m_began; }
  // Whether, by its annotation, a later attempt has created or follows the job.
  [[nodiscard]] bool is_later(const Json& job) const;
  // Like is_later(), but clocks are not trusted over our own pod: while that is intact, no attempt comes after this one, and began() is from then on
  // later than the job's annotation. Calls `done` once, immediately if nothing has to be read, otherwise from the loop; in doubt the job belongs to a
  // later attempt.
  void judge(const Json& job, const std::function<void(bool later)>& done);
  // Whether another attempt may have replaced this one: our pod is gone, or its status says that it has ended. `done`: as above. Errors:
  // unavailable, it cannot be determined.
  void ask_replaced(const std::function<void(Result<bool> replaced)>& done);
  // Cancels a pending question.
  void forget() { m_call.cancel(); }

 private:
  kube::Client& m_client;
  const Facts& m_facts;
  std::optional<Time> m_began;
  kube::PendingCall m_call;
  kube::PendingCall m_get;
};

}  // namespace trainstep::cluster
