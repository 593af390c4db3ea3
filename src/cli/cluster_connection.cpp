// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_connection.h"

#include <cstdlib>
#include <optional>
#include <random>

namespace trainstep::cli {
namespace {

std::string environment(const char* name) {
  const auto* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

}  // namespace

cluster::OwnPod own_pod() {
  cluster::OwnPod pod;
  // The first two are set through the downward API: by KFP and by our own templates. A host name is cut after 63 characters.
  for (const auto* variable : {"KFP_POD_NAME", "POD_NAME", "HOSTNAME"})
    if (pod.name.empty()) pod.name = environment(variable);
  // Argo's variable, which old versions do not set; our own templates set the other one through the downward API.
  for (const auto* variable : {"ARGO_NODE_ID", "WORKFLOW_NODE_ID"})
    if (pod.node_id.empty()) pod.node_id = environment(variable);
  return pod;
}

Result<ClusterConnection> find_cluster(const std::string& context, const std::string& name_space) {
  ClusterConnection place;
  std::optional<kube::Credentials> pod;
  if (context.empty()) {
    ASSIGN(pod, kube::in_cluster());
  }
  if (pod) {
    place.credentials = std::move(*pod);
    place.pod = own_pod();
    place.pod.name_space = place.credentials.name_space;
  } else {
    ASSIGN(place.credentials, kube::from_kubeconfig("", context));
  }
  place.description = place.credentials.description;
  place.name_space = name_space.empty() ? place.credentials.name_space : name_space;
  return place;
}

std::uint64_t random_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

}  // namespace trainstep::cli
