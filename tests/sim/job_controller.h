// The Job controller of kube-controller-manager, and its TTL controller: batch/v1 Jobs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/operators.h"

namespace trainstep::sim {

class JobController : public Controller {
 public:
  JobController(Store& store, Collector& collector, Random random);

 private:
  struct Count {
    int active = 0, ready = 0, succeeded = 0, failed = 0, terminating = 0;
    bool rule_failed = false;           // podFailurePolicy: FailJob
    std::set<std::string> done, taken;  // completion indexes
  };
  bool is_ours(const Resource& resource) const override { return resource.group_version == "batch/v1" && resource.plural == "jobs"; }
  void reconcile(const VersionPtr& job) override;
  Count count(const VersionPtr& job, const std::vector<VersionPtr>& pods);
  void finish(const VersionPtr& job, Json& status, const std::string& type, const std::string& reason, const std::string& message);
  void start_pods(const VersionPtr& job, const Count& count);
  void suspend(Json& status, const std::vector<VersionPtr>& pods);
  void release_soon(const Version& pod);
  void release(const std::string& pod_uid);
  void look_at_deadline(const VersionPtr& job, const Json& status, std::int64_t deadline);
  void expire(const VersionPtr& job, const Json& status);

  std::map<std::string, std::map<std::string, bool>> m_ended;  // by job and pod: whether it succeeded
  std::map<std::string, Time> m_last_failure;
  std::map<std::string, std::int64_t> m_deadlines;  // for which a look is planned
  std::set<std::string> m_suspended;                // pods that ended because of that: no failures
};

}  // namespace trainstep::sim
