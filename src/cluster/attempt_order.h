// Which of two attempts of a step is the later one: the job is that one's. An attempt that was lost may come to its job after the next one has.
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
  ~AttemptOrder();

  // What a job that this attempt makes or follows bears (began_annotation). Unset: no Workflow has made our pod, or it may not be read.
  [[nodiscard]] std::optional<Time> began() const { return m_began; }
  // By what it bears, a later attempt has made or follows the job.
  [[nodiscard]] bool is_later(const Json& job) const;
  // As is_later(), but clocks are not believed against our own pod: while that is whole, no attempt comes after this one, and began() is from then on
  // later than what the job bears. `done`: once, at once where nothing is to be asked, else from the loop; in doubt it is a later one's.
  void judge(const Json& job, std::function<void(bool later)> done);
  // Whether another attempt may have come in our place: our pod is gone, or has ended by the word of who has lost it. `done`: as above. Errors:
  // unavailable, it cannot be known.
  void ask_replaced(std::function<void(Result<bool> replaced)> done);
  // Nobody waits for an answer any more.
  void forget() { m_client.cancel(m_call); }

 private:
  kube::Client& m_client;
  const Facts& m_facts;
  std::optional<Time> m_began;
  kube::Client::CallId m_call = 0;
  kube::Client::CallId m_question = 0;
};

}  // namespace trainstep::cluster
