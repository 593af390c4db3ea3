// Tells an agent that no step follows its job any more: the job's Lease was not renewed (docs/adr/0036-a-lease-for-a-job-without-an-owner.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "kube/client.h"
#include "plan/task.h"

namespace trainstep::agent {

// Until when the Lease (coordination.k8s.io/v1) holds, by the cluster's clock; nullopt: it does not say. Any JSON is allowed. Pure.
std::optional<Time> held_until(const Json& lease);

// Reads the Lease regularly (plan::TaskLease). It has run out if two reads in a row say so: after an API server was away, its step needs a moment to
// renew it. One that is absent although its step may create it counts from the beginning of this watch. Otherwise a Lease that is absent, or that
// cannot be read, decides nothing.
class LeaseWatch {
 public:
  struct Context {
    Loop& loop;
    http::Transport& transport;
    std::uint64_t seed;                                  // for jitter
    std::function<void(const std::string& line)> log;    // messages for people
    std::function<void(const std::string& why)> lapsed;  // called once, from the loop
  };
  // References must outlive it. `credentials`: of the pod's service account, in the namespace of the job.
  LeaseWatch(Context context, std::shared_ptr<kube::Credentials> credentials, std::string job, plan::TaskLease lease);
  LeaseWatch(const LeaseWatch&) = delete;
  LeaseWatch& operator=(const LeaseWatch&) = delete;

 private:
  void read_later();
  void read();
  void handle(const kube::Answer& answer);
  [[nodiscard]] bool is_stale(const kube::Answer& answer) const;

  Context m_context;
  kube::Client m_client;
  kube::Path m_path;
  plan::TaskLease m_lease;
  Time m_began;
  bool m_denial_logged = false;
  bool m_stale = false;  // by the last read
  Timer m_timer;
  kube::PendingCall m_call;
};

}  // namespace trainstep::agent
