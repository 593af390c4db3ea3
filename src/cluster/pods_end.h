// Waits for the end of the pods of a deleted job: a background deletion removes the job before them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cluster/pod_index.h"
#include "cluster/submit.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

class PodsEnd {
 public:
  struct Sink {
    std::function<void(const std::string& pod)> remains;  // once, if a server makes us wait for seconds
    // called once, from the loop: there is none any more, or why that cannot be determined
    std::function<void(const std::optional<kube::ApiError>& why)> done;
  };
  // `job`: as it was seen. `timeout`: with a server that does not respond. `client` must outlive it.
  PodsEnd(kube::Client& client, const Submitted& job, const plan::Plan& plan, Duration timeout, Sink sink);
  PodsEnd(const PodsEnd&) = delete;
  PodsEnd& operator=(const PodsEnd&) = delete;

 private:
  void look();
  void looked(const kube::Answer& answer);

  kube::Client& m_client;
  PodIndex m_index;
  std::string m_selector, m_name_space, m_uid, m_created;
  Duration m_timeout;
  Sink m_sink;
  kube::PendingCall m_call;
  Timer m_next;
  int m_looks = 0;
};

}  // namespace trainstep::cluster
