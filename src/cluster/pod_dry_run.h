// Checks whether the pods of a job would be admitted by Pod Security. A dry run of the job does not show this: its pods are created later, by
// operators that add containers of their own. So each kind of pod gets its own dry run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/finding.h"
#include "data/json.h"
#include "job_types/job_type.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

struct DryRunPod {
  std::string type;                                      // of the replica: "Worker"
  Json pod;                                              // as in the manifest of the job
  std::optional<job_types::InjectedContainer> injected;  // what the operator adds
};

// One for each replica type. `object`: the job as the API server would accept it. Pure.
std::vector<DryRunPod> dry_run_pods(const Json& object, const plan::Plan& plan, const job_types::Resource& resource);

// The part of a refusal by Pod Security: "violates PodSecurity …"; empty: refused by something else. Pure.
std::string pod_security_in(const std::string& refusal);

// Uses dry runs if pods may be created; otherwise reads the label of the namespace and reports what follows from it.
class PodDryRun {
 public:
  struct Sink {
    std::function<void(Finding)> found;
    std::function<void(Result<void>)> done;  // called once, from the loop. Errors: unavailable
  };
  PodDryRun(kube::Client& client, std::vector<DryRunPod> pods, std::string name_space, Sink sink);
  PodDryRun(const PodDryRun&) = delete;
  PodDryRun& operator=(const PodDryRun&) = delete;

 private:
  void try_pods(std::size_t at);
  void try_injected(std::size_t at);
  void create(const Json& pod, std::function<void(const kube::Answer&)> done);
  void read_namespace_level();
  void report_injected(const std::string& type, const job_types::InjectedContainer& injected, const std::string& refusal);
  void judge_label(const std::string& level);
  void log(Finding::Severity severity, std::string text) { m_sink.found({severity, std::move(text)}); }

  kube::Client& m_client;
  std::vector<DryRunPod> m_pods;
  std::string m_name_space;
  Sink m_sink;
  bool m_well = true;
  kube::PendingCall m_call;
};

}  // namespace trainstep::cluster
