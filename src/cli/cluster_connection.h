// The cluster and namespace that a command uses, and the pod that it runs in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "cluster/facts.h"
#include "kube/credentials.h"

namespace trainstep::cli {

struct ClusterConnection {
  kube::Credentials credentials;
  std::string name_space;
  cluster::OwnPod pod;  // without a name: this is not a pod
  std::string description;
};

// What the variables of this pod say about it.
cluster::OwnPod own_pod();

// `context` empty: the pod's own cluster, otherwise the current context of the kubeconfig. `name_space` empty: that of the pod or context. Errors:
// input.
Result<ClusterConnection> find_cluster(const std::string& context, const std::string& name_space);

// A random seed for back-off jitter.
std::uint64_t random_seed();

}  // namespace trainstep::cli
