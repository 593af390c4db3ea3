// The Lease (coordination.k8s.io/v1) by which the pods of a job see that a step follows it (docs/adr/0036-a-lease-for-a-job-without-an-owner.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/time.h"
#include "data/json.h"
#include "job_types/job_type.h"
#include "kube/client.h"

namespace trainstep::cluster {

// Renews it, or creates it, for as long as this object exists. It has the name of the job, which owns it. A Lease that cannot be renewed is reported,
// and tried again: the job is followed all the same.
class StepLease {
 public:
  struct Job {
    job_types::Resource resource;
    std::string name_space, name, uid;
  };
  using Log = std::function<void(std::string text)>;
  // The client must outlive it. `holder`: this attempt. `interval`: how often it is renewed. `length`: how long it holds after that.
  StepLease(kube::Client& client, Job job, std::string holder, Duration interval, Duration length, Log log);
  StepLease(const StepLease&) = delete;
  StepLease& operator=(const StepLease&) = delete;

 private:
  void renew();
  void renewed(const kube::Answer& answer);
  [[nodiscard]] Json object() const;

  kube::Client& m_client;
  Job m_job;
  std::string m_holder;
  Duration m_interval, m_length;
  Log m_log;
  bool m_reported = false;
  Timer m_timer;
  kube::PendingCall m_call;
};

}  // namespace trainstep::cluster
