// What a step finds out about itself before it plans: its pod, its Workflow, its mounts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "kube/client.h"
#include "plan/data.h"

namespace trainstep::cluster {

// The Argo Workflow that a step belongs to.
struct Workflow {
  std::string api_version;  // "argoproj.io/v1alpha1"
  std::string name;
  std::string uid;
};

struct Facts {
  std::string name_space;
  std::string pod;  // our own; empty: not in a pod, or it may not be read
  std::string pod_uid;
  std::string node_name;  // of the Workflow: "wf(0).root(0).train(1)"
  std::optional<Workflow> workflow;
  std::string pipeline_run;  // label pipeline/runid; empty outside KFP
  std::string image;         // of our own container: it holds this program
  std::vector<plan::ClaimMount> mounts;
  std::optional<plan::JobFolder> folder;  // for data that have no address of their own
  std::string stores;                     // what KFP's configuration says of object stores (cluster/data.h)
  bool retried = false;                   // another attempt is known to follow if this one is lost: the retry strategy says so, with attempts left …
  std::optional<Time> retried_until;      // … until then, if this is set
  std::vector<std::string> notices;       // what could not be found out, and what follows from it
};

// From the pod object as the API server gives it. Any JSON is allowed.
Facts read_facts(const Json& pod);

// Asks for our own pod. An answer that trying again cannot help (403, 404) is a notice, not an error. Errors: unavailable.
void find_facts(kube::Client& client, const std::string& name_space, const std::string& pod, std::function<void(Result<Facts>)> done);

}  // namespace trainstep::cluster
