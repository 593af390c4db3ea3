// Whether a node of the cluster is large enough for each pod of a job. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cluster/pod_dry_run.h"
#include "data/json.h"

namespace trainstep::cluster {

// A sentence for each kind of pod that no node has room for, even if nothing else runs there: "no node is large enough for a pod of Worker: cpu 96,
// nvidia.com/gpu 8". `nodes`: a NodeList; any JSON is allowed. Taints are not considered.
std::vector<std::string> pods_without_node(const std::vector<DryRunPod>& pods, const Json& nodes);
// What that depends on of a node remains.
void trim_node(Json& node);

}  // namespace trainstep::cluster
