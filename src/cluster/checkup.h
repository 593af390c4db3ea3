// Could this step do what it will have to? Asked of the API server, before anything is made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/facts.h"
#include "cluster/finding.h"
#include "cluster/pod_trial.h"
#include "cluster/rights.h"
#include "cluster/submit.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

struct Diagnosis {
  std::vector<Right> missing;  // rights, needed or not
  bool bad = false;            // a finding was
};

// Each right by a SelfSubjectAccessReview; the resource, the manifest and the pods by discovery and dry runs; the name; the quotas' room.
class Checkup {
 public:
  struct Sink {
    std::function<void(const Finding&)> found;    // as they come
    std::function<void(Result<Diagnosis>)> done;  // once. Errors: unavailable
  };
  // Begins at once; all findings come from the loop. References must outlive it.
  Checkup(kube::Client& client, const plan::Plan& plan, const Facts& facts, DataSurroundings data, std::string name_space, Sink sink);
  Checkup(const Checkup&) = delete;
  Checkup& operator=(const Checkup&) = delete;
  ~Checkup();

 private:
  void submitted(const Result<Submitted>& result);
  void look_at_claim();
  void ask(std::size_t right);
  void answered(std::size_t right, const kube::Answer& answer);
  void try_pods();
  void look_at_quotas();
  void tell(Finding::Grade grade, std::string text);

  kube::Client& m_client;
  const plan::Plan& m_plan;
  const Facts& m_facts;
  DataSurroundings m_data;
  std::string m_name_space;
  Sink m_sink;
  Json m_object;  // the job, as it would be taken; null: it would not
  std::vector<Right> m_rights;
  Diagnosis m_diagnosis;
  kube::Client::CallId m_call = 0;
  std::unique_ptr<Submission> m_submission;
  std::unique_ptr<PodTrial> m_trial;
};

}  // namespace trainstep::cluster
