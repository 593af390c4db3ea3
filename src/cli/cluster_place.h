// Which cluster and namespace a command talks to, and who we are there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "cluster/facts.h"
#include "kube/credentials.h"

namespace trainstep::cli {

struct ClusterPlace {
  kube::Credentials credentials;
  std::string name_space;
  cluster::OwnPod pod;  // without a name: we are in none
  std::string description;
};

// What this pod is told of itself by its variables.
cluster::OwnPod own_pod();

// `context` empty: the pod's own cluster, else the kubeconfig's current one. `name_space` empty: the pod's or the context's. Errors: input.
Result<ClusterPlace> find_cluster(const std::string& context, const std::string& name_space);

std::uint64_t random_seed();

}  // namespace trainstep::cli
