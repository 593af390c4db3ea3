// Checks with the API server, before anything is created, whether this step could do what it will have to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/facts.h"
#include "cluster/finding.h"
#include "cluster/missing_roles.h"
#include "cluster/permissions.h"
#include "cluster/pod_dry_run.h"
#include "cluster/step_data.h"
#include "cluster/submit.h"
#include "http/transport.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

struct Diagnosis {
  MissingRoles missing;               // permissions, required or not
  std::vector<std::string> refusals;  // the findings that are errors, except for missing permissions
  std::vector<std::string> waits;     // why the job would wait: quotas, nodes
  [[nodiscard]] bool failed() const { return !refusals.empty() || missing.lacks_needed(); }
};

// Checks each permission by a SelfSubjectAccessReview; the credentials of object stores by reading them; the resource, the manifest and the pods by
// discovery and dry runs; the name; the room in quotas; the size of the nodes, if they may be listed.
class Preflight {
 public:
  struct Context {
    http::Transport& transport;
    const plan::Plan& plan;
    const Facts& step_facts;  // of the step …
    const Facts& facts;       // … and what is known of it where the job is to be
    DataContext data;
    Side step, job;                                            // the same twice if the job is in the cluster of the step
    std::function<void(StepData::Context& context)> add_keys;  // those that are known
  };
  struct Sink {
    std::function<void(const Finding&)> found;    // called for each finding
    std::function<void(Result<Diagnosis>)> done;  // called once. Errors: unavailable
  };
  // Starts immediately; findings are reported from the loop. References must outlive it.
  Preflight(Context context, Sink sink);
  Preflight(const Preflight&) = delete;
  Preflight& operator=(const Preflight&) = delete;

 private:
  void submitted(const Result<Submitted>& result);
  void check_claim();
  void ask_for_permissions();
  void answered(std::size_t right, const kube::Answer& answer);
  void judge(const Permission& right, const Json& review);
  void report_permissions();
  void check_credentials();
  void try_pods();
  void check_quotas();
  void compare_quotas(const Json& quotas);
  void check_nodes();
  void report_waits(const std::vector<std::string>& sentences);
  void ask_for_pods();
  void name_subject(bool of_step);
  void log(Finding::Severity severity, std::string text);
  [[nodiscard]] bool is_apart() const { return &m_context.step.client != &m_context.job.client; }
  [[nodiscard]] const Side& side_of(const Permission& right) const { return right.of_step ? m_context.step : m_context.job; }
  [[nodiscard]] std::string shown(const Side& side) const;

  Context m_context;
  kube::Client& m_client;  // of the cluster of the job
  const plan::Plan& m_plan;
  const std::string& m_name_space;  // of the job
  Sink m_sink;
  Json m_object;                   // the job as it would be accepted; null: it would not
  bool m_is_there = false;         // … because it exists
  bool m_exceeds_a_quota = false;  // the reason why it would not
  std::vector<DryRunPod> m_pods;
  std::vector<Permission> m_permissions;
  struct Review {
    kube::PendingCall call;
    Json answer;
  };
  std::vector<Review> m_reviews;  // of the permissions, in their order
  std::size_t m_unanswered = 0;
  Diagnosis m_diagnosis;
  kube::PendingCall m_call;
  std::unique_ptr<Submission> m_submission;
  std::unique_ptr<StepData> m_step_data;
  std::unique_ptr<PodDryRun> m_pod_dry_run;
};

}  // namespace trainstep::cluster
