// What a step finds out about itself before it plans: its pod, its Workflow, its mounts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
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

// What a process is told of the pod that it is in.
struct OwnPod {
  std::string name;       // as its host name has it: without an end where it is longer than 63 characters; empty: it is in none
  std::string node_id{};  // ARGO_NODE_ID: of the Workflow's node
  std::filesystem::path argo_template = "/var/run/argo/template";  // where Argo has written the template that the pod is made from
  std::string name_space{};                                        // where it is; empty: where its job is to be
};

// Whether another attempt of this step comes if this one is lost with its pod.
enum class Retry {
  none,
  may_follow,  // the retry strategy tries again what failed, or what was in error: which of them the loss of a pod is, Argo decides by what it sees
               // first
  follows,
};

struct Facts {
  std::string name_space;
  std::string pod;  // our own; empty: not in a pod, or it may not be read
  std::string pod_uid;
  std::string node;       // it runs on; empty: not known
  std::string node_name;  // of the Workflow: "wf(0).root(0).train(1)"
  std::optional<Workflow> workflow;
  std::string pipeline_run;  // label pipeline/runid; empty outside KFP
  std::string image;         // of our own container: it holds this program
  std::vector<plan::ClaimMount> mounts;
  std::optional<plan::JobFolder> folder;  // for data that have no address of their own
  std::string stores;                     // what KFP's configuration says of object stores (cluster/data.h)
  Retry retry = Retry::none;              // by the retry strategy that the pod is made from, with attempts left …
  std::optional<Time> retried_until;      // … until then, if this is set
  Duration retry_pause{0};                // how long it waits before the next attempt
  Duration grace{30'000};                 // our pod's, between SIGTERM and SIGKILL
  std::optional<Time> written;            // when our pod was made, or given a node: by the cluster's clock it is later now
  std::optional<Time> began;              // when our pod was made, of a Workflow's: each attempt's is later than those of the ones before
  bool launcher = false;                  // we run below KFP's launcher, which dies of the SIGTERM and takes us along within a second
  std::vector<std::string> notices;       // what could not be found out, and what follows from it
};

// From the pod object as the API server gives it, and from `template_file` (OwnPod) what is too large to stand there. Any JSON is allowed.
Facts read_facts(const Json& pod, const std::filesystem::path& template_file = {});

// What counts of them for a job that is not in our pod's namespace: an owner lives beside what it owns, and claims beside the pods that mount them.
Facts facts_for_job_elsewhere(Facts facts);

// Asks for our own pod, in its namespace, or in `name_space` if that is not known; where no pod has that name, or it may not be read by it, it is
// looked for among the pods of the namespace: by its node's id, else by the beginning of its name, then once more by its name for some seconds. That
// it may not be read is a notice, not an error, as is that it cannot be found; but where Argo has named its node, there is such a pod as long as
// nobody has taken it away. `retry`: of the first question. Errors: unavailable; not_found, it was taken away.
void find_facts(kube::Client& client, const std::string& name_space, const OwnPod& pod, std::function<void(Result<Facts>)> done,
                kube::Retry retry = {});

}  // namespace trainstep::cluster
