// Whether this step may create the Lease of its job (docs/adr/0036-a-lease-for-a-job-without-an-owner.md), asked before there is a job.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <string>

#include "kube/client.h"

namespace trainstep::cluster {

class LeasePermission {
 public:
  // Calls `done` once, from the loop, within some seconds. In doubt it may not. The client must outlive it.
  LeasePermission(kube::Client& client, const std::string& name_space, std::function<void(bool allowed)> done);
  LeasePermission(const LeasePermission&) = delete;
  LeasePermission& operator=(const LeasePermission&) = delete;

 private:
  void answered(const kube::Answer& answer);

  std::function<void(bool allowed)> m_done;
  std::array<kube::PendingCall, 2> m_calls;  // create, patch: it is applied
  std::size_t m_pending;
  bool m_allowed = true;
};

}  // namespace trainstep::cluster
