// Makes the plan of a job from the step's inputs: reads what the plan depends on.
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
#include "cluster/first_contact.h"
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
    JobPlace& place;     // receives what was found
    Facts& facts;        // of the step: receives KFP's configuration of object stores
    std::string name_space;
    bool wants_stores;                              // an input or output has an address in an object store
    std::string configuration_secret;               // its name; empty: there is none
    bool is_observer;                               // only follows an existing job: no data is routed
    bool in_pod;                                    // so servers that only pods can reach are reachable
    std::function<Result<plan::Plan>()> make_plan;  // from the facts. Errors: input
    std::function<void(const std::string& line)> log;
  };
  struct Sink {
    std::function<void(plan::Plan plan)> planned;
    std::function<void(Error why)> unavailable;  // no job can be created, but one of an earlier attempt may be followed
    std::function<void(Error why)> failed;
  };

  // References must outlive it.
  PlanPreparation(Context context, Sink sink);
  PlanPreparation(const PlanPreparation&) = delete;
  PlanPreparation& operator=(const PlanPreparation&) = delete;

  // May be called again; everything is then read again. Then calls one function of the sink, from the loop or immediately.
  void begin();
  // A stop was requested: the plan only has to name a job that exists. False: the read in progress is still waited for.
  bool stop();
  // The caller follows another plan, or none: the sink is no longer called.
  void leave() { m_left = true; }
  // Stops looking for Kubeflow's own store.
  void cancel_store_search();
  // Whether it is known which cluster the job is in.
  [[nodiscard]] bool is_configured() const { return m_configured; }
  // What is being read: "claim data".
  [[nodiscard]] const std::string& reading() const { return m_reading; }

 private:
  void read_store_configuration();
  void configure();
  [[nodiscard]] bool may_be_first() const;
  void reach();
  void find_keys();
  void find_remote_credentials(const objectstore::CredentialsRef& at);
  void make_plan();
  [[nodiscard]] bool lacks_store(const plan::Plan& plan) const;
  void find_kubeflow_store();
  void prefer_earlier_store();
  void check_claims(plan::Plan plan);

  Context m_context;
  Sink m_sink;
  std::unique_ptr<FirstContact> m_first_contact;    // with another cluster
  std::unique_ptr<KubeflowStore> m_kubeflow_store;  // once it has been looked for
  std::unique_ptr<JobSearch> m_store_search;
  std::unique_ptr<ClaimModesReader> m_claim_reader;  // null: no claim has to be checked
  kube::PendingCall m_call;                          // reads a Secret
  std::string m_reading;
  std::optional<Error> m_unavailable;  // KFP's configuration could not be read
  bool m_configured = false;
  bool m_stopped = false;
  bool m_left = false;
  Lifetime m_lifetime;
};

}  // namespace trainstep::cluster
