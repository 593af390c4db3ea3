// The MPI operator 0.8: MPIJob v2beta1. Its launcher is a batch/v1 Job, its workers are plain pods.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sim/operators.h"

namespace trainstep::sim {

class MpiOperator : public Controller {
 public:
  using Controller::Controller;

 private:
  bool is_ours(const Resource& resource) const override { return resource.group_version == "kubeflow.org/v2beta1"; }
  void reconcile(const VersionPtr& job) override;
  [[nodiscard]] VersionPtr launcher_of(const VersionPtr& job) const;
  void create_launcher(const VersionPtr& job, bool suspended);
  // How many run; creates those that are missing. Minus one: one was evicted.
  int look_at_workers(const VersionPtr& job, int wanted);
  void clean(const VersionPtr& job);
  void judge(const VersionPtr& job, const VersionPtr& launcher, int workers, int running, Json& status);
};

}  // namespace trainstep::sim
