// Checks with the API server, before anything is created, whether this step could do what it will have to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/facts.h"
#include "cluster/finding.h"
#include "cluster/permissions.h"
#include "cluster/pod_dry_run.h"
#include "cluster/step_data.h"
#include "cluster/submit.h"
#include "http/transport.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

struct Diagnosis {
  std::vector<Permission> missing;  // permissions, required or not
  bool failed = false;              // a finding is an error
};

// Checks each permission by a SelfSubjectAccessReview; the credentials of object stores by reading them; the resource, the manifest and the pods by
// discovery and dry runs; the name; the room in quotas.
class Preflight {
 public:
  struct Sink {
    std::function<void(const Finding&)> found;    // called for each finding
    std::function<void(Result<Diagnosis>)> done;  // called once. Errors: unavailable
  };
  // Starts immediately; findings are reported from the loop. References must outlive it.
  Preflight(kube::Client& client, http::Transport& transport, const plan::Plan& plan, const Facts& facts, DataContext data, std::string name_space,
            Sink sink);
  Preflight(const Preflight&) = delete;
  Preflight& operator=(const Preflight&) = delete;

 private:
  void submitted(const Result<Submitted>& result);
  void check_claim();
  void ask(std::size_t right);
  void answered(std::size_t right, const kube::Answer& answer);
  void check_credentials();
  void try_pods();
  void check_quotas();
  void log(Finding::Severity severity, std::string text);

  kube::Client& m_client;
  http::Transport& m_transport;
  const plan::Plan& m_plan;
  const Facts& m_facts;
  DataContext m_data;
  std::string m_name_space;
  Sink m_sink;
  Json m_object;  // the job as it would be accepted; null: it would not
  std::vector<Permission> m_permissions;
  Diagnosis m_diagnosis;
  kube::PendingCall m_call;
  std::unique_ptr<Submission> m_submission;
  std::unique_ptr<StepData> m_step_data;
  std::unique_ptr<PodDryRun> m_pod_dry_run;
};

}  // namespace trainstep::cluster
