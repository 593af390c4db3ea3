// What a step finds out about itself before it plans: its pod, its Workflow, its mounts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
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

// What a process knows of its pod from its environment.
struct OwnPod {
  std::string name;       // from its host name: without its end if it is longer than 63 characters; empty: not in a pod
  std::string node_id{};  // ARGO_NODE_ID: of the Workflow's node
  std::filesystem::path argo_template = "/var/run/argo/template";  // where Argo has written the template of the pod
  std::string name_space{};                                        // its namespace; empty: that of the job
};

// Whether another attempt of this step follows if this one is lost with its pod.
enum class Retry {
  none,
  may_follow,  // the strategy retries either failures or errors, and Argo decides by what it sees first which of them a lost pod is
  follows,
};

struct Facts {
  std::string name_space;
  std::string pod;  // of our pod; empty: not in a pod, or it may not be read
  std::string pod_uid;
  std::string node;       // where it runs; empty: unknown
  std::string node_name;  // of the Workflow: "wf(0).root(0).train(1)"
  std::optional<Workflow> workflow;
  int attempts_before = 0;   // of the step, by its retry strategy
  std::string pipeline_run;  // label pipeline/runid; empty outside KFP
  std::string image;         // of our own container: it has this program
  std::vector<plan::ClaimMount> mounts;
  std::optional<plan::JobFolder> folder;                  // for data without an address of their own
  std::string stores;                                     // KFP's configuration of object stores (cluster/data.h)
  std::map<std::string, plan::StoreAccess> known_stores;  // by address: takes precedence over it
  Retry retry = Retry::none;                              // by the retry strategy of the pod, with attempts left …
  std::optional<Time> retried_until;                      // … until then, if this is set
  Duration retry_pause{0};                                // the pause before the next attempt
  Duration grace{30'000};                                 // of our pod, between SIGTERM and SIGKILL
  std::optional<Time> written;                            // when our pod was created or scheduled: the cluster's clock is later now
  std::optional<Time> began;                              // when our pod was created, if by a Workflow: later for each attempt than for those before
  bool launcher = false;             // we run below KFP's launcher, which exits on SIGTERM, so that we are killed within a second
  std::vector<std::string> notices;  // what could not be found out, and the consequence
};

// From the pod as the API server returns it, and from `template_file` (OwnPod) what is too large to be in it. Any JSON is allowed.
Facts read_facts(const Json& pod, const std::filesystem::path& template_file = {});

// The part of them that applies to a job in another namespace than our pod's: owners must be in the same namespace as what they own, and claims in
// that of the pods that mount them.
Facts facts_for_job_elsewhere(Facts facts);

// Reads our own pod, in its namespace, or in `name_space` if that is not known. If no pod has that name, or it may not be read, looks for it among
// the pods of the namespace: by the id of its node, otherwise by the start of its name, then by its name again for some seconds. That it may not be
// read or cannot be found is a notice, not an error; but if Argo has named its node, the pod exists unless it was deleted. `retry`: for
// the first request. Errors: unavailable; not_found, it was removed.
void find_facts(kube::Client& client, const std::string& name_space, const OwnPod& pod, std::function<void(Result<Facts>)> done,
                kube::Retry retry = {});

}  // namespace trainstep::cluster
