// From what a step was told to the plan of its job: reads what the plan depends on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/lifetime.h"
#include "cluster/claim_nodes.h"
#include "cluster/facts.h"
#include "cluster/job_place.h"
#include "cluster/job_search.h"
#include "cluster/kubeflow_store.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

// Reads KFP's configuration of object stores, the Secret of cluster_configuration_secret and the keys that it refers to, Kubeflow's own store if no
// other place is known for data, and the claims of the pods: one after another, each only if the plan depends on it.
class PlanPreparation {
 public:
  struct Context {
    Loop& loop;
    http::Transport& transport;
    kube::Client& home;  // of the cluster of the step
    JobPlace& place;     // gets what is found out
    Facts& facts;        // of the step: gets KFP's configuration of object stores
    std::string name_space;
    bool wants_stores;                              // an input or output has an address in an object store
    std::string configuration_secret;               // its name; empty: there is none
    bool looks_on;                                  // for a job that exists: nothing is routed
    bool in_pod;                                    // from which a server that only pods reach can be reached
    std::function<Result<plan::Plan>()> make_plan;  // from the facts. Errors: input
    std::function<void(const std::string& line)> tell;
  };
  struct Sink {
    std::function<void(plan::Plan plan)> planned;
    std::function<void(Error why)> lacking;  // no job can be created, but one of an earlier attempt may be followed
    std::function<void(Error why)> failed;
  };

  // References must outlive it.
  PlanPreparation(Context context, Sink sink);
  PlanPreparation(const PlanPreparation&) = delete;
  PlanPreparation& operator=(const PlanPreparation&) = delete;

  // Allowed again: everything is read again. Then calls one function of the sink, from the loop or immediately.
  void begin();
  // A stop was requested: the plan only has to name a job that exists. False: what is being read is awaited nevertheless.
  bool stop();
  // Another plan is followed, or none: the sink is not called any more.
  void leave() { m_left = true; }
  // Nor is the store looked for.
  void leave_store();
  // Whether it is known which cluster the job is in.
  [[nodiscard]] bool is_configured() const { return m_configured; }
  // What is being read: "claim data".
  [[nodiscard]] const std::string& reading() const { return m_reading; }

 private:
  void look_for_stores();
  void configure();
  void find_remote_keys(const objectstore::CredentialsRef& at);
  void make_plan();
  [[nodiscard]] bool lacks_store(const plan::Plan& plan) const;
  void find_kubeflow_store();
  void prefer_earlier_store();
  void look_at_claims(plan::Plan plan);

  Context m_context;
  Sink m_sink;
  std::unique_ptr<KubeflowStore> m_kubeflow_store;  // once it has been looked for
  std::unique_ptr<JobSearch> m_store_search;
  std::unique_ptr<ClaimLook> m_claim_look;  // null: no claim has to be checked
  kube::PendingCall m_call;                 // reads a Secret
  std::string m_reading;
  std::optional<Error> m_lacking;  // KFP's configuration could not be read
  bool m_configured = false;
  bool m_stopped = false;
  bool m_left = false;
  Lifetime m_lifetime;
};

}  // namespace trainstep::cluster
