// The training operator 1.9: PyTorchJob, TFJob and MPIJob v1, with its quirks (docs/design/operators.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/operators.h"

namespace trainstep::sim {

class TrainingOperator : public Controller {
 public:
  using Controller::Controller;

 private:
  struct Tally {
    int replicas = 0, active = 0, succeeded = 0, failed = 0;
    bool first_done = false;  // index 0 has succeeded
    bool restarts_never = false;
  };
  // One look at a job.
  struct Look {
    VersionPtr job;
    std::string kind;  // "PyTorchJob"
    Json status;
    std::map<std::string, Tally> tallies;  // by replica type
    bool restarting = false;
    bool failed_for_good = false;  // ExitCode: a code of 1 … 127
    bool created = false;
    std::int64_t restarts = 0;  // of containers that run, where the policy counts them
    [[nodiscard]] const Json& policy() const { return part_of(job->object, {"spec", "runPolicy"}); }
    void set(const std::string& type, bool holds, const std::string& reason, const std::string& message, const std::string& now);
  };

  bool is_ours(const Resource& resource) const override { return resource.group_version == "kubeflow.org/v1"; }
  void reconcile(const VersionPtr& job) override;
  void finished(const Look& look);
  void suspend(Look& look);
  void look_at_replicas(Look& look);
  void handle_pod(Look& look, Tally& tally, const std::string& type, const std::string& name, const std::string& policy, const Json& pod_template,
                  const Json& labels);
  void judge(Look& look);
  void judge_pytorch(Look& look);
  void judge_tf(Look& look);
  void judge_mpi(Look& look);
  void succeed(Look& look);
  void fail(Look& look, const std::string& message, bool with_time = true);
  bool out_of_bounds(Look& look);
};

}  // namespace trainstep::sim
