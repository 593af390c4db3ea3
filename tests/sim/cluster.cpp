// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster.h"

#include <utility>

namespace trainstep::sim {

Cluster::Cluster(SimLoop& loop, Random random, const Installed& installed, Kubelet::Draw draw)
    : store(loop, random.split()),
      collector(store, random.split()),
      server(store, logs, collector, {}),
      kubelet(store, logs, random.split(), std::move(draw)),
      jobs(store, collector, random.split()) {
  for (const auto& [plural, kind] : {std::pair{"pods", "Pod"},
                                     {"events", "Event"},
                                     {"secrets", "Secret"},
                                     {"configmaps", "ConfigMap"},
                                     {"services", "Service"},
                                     {"persistentvolumeclaims", "PersistentVolumeClaim"},
                                     {"resourcequotas", "ResourceQuota"}})
    store.serve({"v1", plural, kind});
  store.serve({"batch/v1", "jobs", "Job"});
  store.serve({"coordination.k8s.io/v1", "leases", "Lease"});
  store.serve({"authorization.k8s.io/v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", true, false});
  if (installed.workflows) store.serve({"argoproj.io/v1alpha1", "workflows", "Workflow", false});
  if (!installed.kubeflow) return;
  store.serve({"kubeflow.org/v1", "pytorchjobs", "PyTorchJob", false});
  store.serve({"kubeflow.org/v1", "tfjobs", "TFJob", false});
  store.serve({installed.mpi_v2beta1 ? "kubeflow.org/v2beta1" : "kubeflow.org/v1", "mpijobs", "MPIJob", false});
  if (installed.mpi_in_both_versions) server.options().also_served["kubeflow.org/v1 mpijobs"] = "kubeflow.org/v2beta1";
  if (!installed.operators_run) return;
  training = std::make_unique<TrainingOperator>(store, collector, random.split());
  if (installed.mpi_v2beta1) mpi = std::make_unique<MpiOperator>(store, collector, random.split());
}

void Cluster::stop_controllers(Time until) {
  collector.stop_until(until);
  jobs.stop_until(until);
  if (training) training->stop_until(until);
  if (mpi) mpi->stop_until(until);
}

void Cluster::set_controllers_clock(Duration error) {
  jobs.set_clock(error);
  if (training) training->set_clock(error);
  if (mpi) mpi->set_clock(error);
}

void Cluster::refuse_pods(const Controller::Refusal& refusal) {
  jobs.refuse_pods(refusal);
  if (training) training->refuse_pods(refusal);
  if (mpi) mpi->refuse_pods(refusal);
}

void Cluster::inject_sidecars() {
  const auto inject = [](Json& pod) { pod["spec"]["containers"].push_back({{"name", sidecar_name}, {"image", "proxy"}}); };
  jobs.change_pods(inject);
  if (training) training->change_pods(inject);
  if (mpi) mpi->change_pods(inject);
}

void Cluster::compact_regularly() {
  store.loop().after(std::chrono::minutes(5), [this, number = store.number()] {
    store.compact(number);
    compact_regularly();
  });
}

VersionPtr Cluster::find(std::string_view group_version, std::string_view plural, std::string_view name) const {
  const auto* resource = store.resource(group_version, plural);
  return resource == nullptr ? nullptr : store.find(*resource, "lab", name);
}

std::vector<VersionPtr> Cluster::training_pods() const {
  auto result = store.list(*store.resource("v1", "pods"), "lab");
  std::erase_if(result,
                [](const VersionPtr& pod) { return !text_at(pod->object, {"metadata", "labels", "workflows.argoproj.io/workflow"}).empty(); });
  return result;
}

}  // namespace trainstep::sim
