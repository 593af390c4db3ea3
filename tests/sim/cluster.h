// A whole cluster in memory: what is stored, who serves it, who runs it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "sim/api_server.h"
#include "sim/job_controller.h"
#include "sim/kubelet.h"
#include "sim/mpi_operator.h"
#include "sim/training_operator.h"

namespace trainstep::sim {

// What an administrator has installed.
struct Installed {
  bool kubeflow = true;               // the custom resources PyTorchJob, TFJob, MPIJob
  bool mpi_v2beta1 = true;            // MPIJob v2beta1 and its operator; false: v1
  bool mpi_in_both_versions = false;  // the same MPIJobs are served as v1, too; the operator is that of v2beta1
  bool operators_run = true;          // false: resources without a controller
  bool workflows = true;              // Argo's
};

class Cluster {
 public:
  // `loop` must outlive it.
  Cluster(SimLoop& loop, Random random, const Installed& installed, Kubelet::Draw draw);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Operators, job controller and garbage collector do nothing until then.
  void stop_controllers(Time until);
  void set_controllers_clock(Duration error);
  void refuse_pods(const Controller::Refusal& refusal);
  // Each pod gets a second container, as a webhook of a service mesh adds it.
  void inject_sidecars();
  [[nodiscard]] VersionPtr find(std::string_view group_version, std::string_view plural, std::string_view name) const;
  // The pods of the namespace, without the step's own.
  [[nodiscard]] std::vector<VersionPtr> training_pods() const;

  // As etcd does: what is older than five to ten minutes is forgotten, from now on.
  void compact_regularly();

  Store store;
  Collector collector;
  PodLogs logs;
  ApiServer server;
  Kubelet kubelet;
  JobController jobs;
  std::unique_ptr<TrainingOperator> training;  // null: does not run
  std::unique_ptr<MpiOperator> mpi;
};

}  // namespace trainstep::sim
