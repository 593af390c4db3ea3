// Where the job of a step is created, and where its data go: in the step's own cluster, or as the Secret of cluster_configuration_secret says.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/facts.h"
#include "cluster/keys_copy.h"
#include "cluster/missing_roles.h"
#include "cluster/owned_objects.h"
#include "cluster/remote.h"
#include "cluster/step_data.h"
#include "cluster/token_renewal.h"
#include "http/transport.h"
#include "kube/client.h"
#include "objectstore/credentials.h"
#include "plan/plan.h"

namespace trainstep::cluster {

class JobPlace {
 public:
  struct Context {
    Loop& loop;
    http::Transport& transport;
    kube::Client& home;                // of the cluster of the step
    std::string name_space;            // of the step
    std::string where;                 // its cluster, for the log
    std::string configuration_secret;  // empty: there is none
    bool as_train_model_job;           // plan::Request::as_train_model_job
    std::uint64_t seed;                // of the client for another cluster
    std::string attempt;               // of this step: signs what its pods put on a claim
    std::function<void(const std::string& line)> log;
  };

  // References must outlive it. Until connect() the job is in the cluster and namespace of the step.
  explicit JobPlace(Context context);
  JobPlace(const JobPlace&) = delete;
  JobPlace& operator=(const JobPlace&) = delete;

  [[nodiscard]] kube::Path configuration_secret() const;
  // Takes what the Secret says. Even after an error, the job is in the cluster that it names, if its credentials could be read. `in_haste`: as
  // kube::Client::hurry(). Errors: input.
  Result<void> connect(const Json& secret, bool in_haste);
  // Another cluster does not have the Secret of this one, and the job takes its credentials along: the Secret that they have to be read from.
  // nullopt: none, or they are known.
  [[nodiscard]] std::optional<objectstore::CredentialsRef> missing_keys() const;
  void set_keys(objectstore::Credentials keys);
  // Whether the Secret may complete, or replace, what complete() gets.
  [[nodiscard]] bool completes_stores() const;
  // Settings of the Secret take precedence over the store that was found. Errors: input.
  Result<plan::JobFolder> complete(const plan::JobFolder& found);

  [[nodiscard]] kube::Client& client() const { return m_remote ? *m_remote : m_context.home; }
  [[nodiscard]] bool is_remote() const { return m_remote != nullptr; }
  // The Secret names another cluster, but does not say how to reach it.
  [[nodiscard]] bool is_out_of_reach() const { return m_elsewhere && !m_remote; }
  [[nodiscard]] const std::string& name_space() const { return m_name_space; }
  [[nodiscard]] const std::string& where() const { return m_context.where; }
  [[nodiscard]] const std::string& access_mode() const { return m_access_mode; }  // of claims that are created for the job; empty: not given
  [[nodiscard]] Side step_side() const { return {m_context.home, m_context.name_space, m_home_where}; }
  [[nodiscard]] Side job_side() const { return {client(), m_name_space, m_context.where}; }
  // From now on the token for another cluster is renewed before it expires, if the server permits that.
  void renew_token();
  // Requests to another cluster must not take long.
  void hurry();

  // What is known for the job: another cluster, or namespace, knows nothing of our Workflow.
  [[nodiscard]] const Facts& facts() const { return m_facts; }
  void take_facts(const Facts& of_step);
  void set_facts(Facts facts) { m_facts = std::move(facts); }
  void set_stores(std::string stores) { m_facts.stores = std::move(stores); }
  void set_folder(std::optional<plan::JobFolder> folder) { m_facts.folder = std::move(folder); }

  // Sets plan.data. Errors: input.
  Result<void> route(plan::Plan& plan);
  // The keys that the job gets in another cluster; nullopt: none. `region`: of its bucket, as the store itself has reported it; empty: unknown.
  // `clock`: KeysCopy::clock.
  [[nodiscard]] std::optional<KeysRenewal::Source> keys_of_job(const plan::Plan& plan, const std::string& region, Duration clock) const;
  // What is created with the job and deleted with it. `keys`: keys_of_job().
  [[nodiscard]] std::vector<OwnedObject> owned_objects(const plan::Plan& plan, const std::optional<KeysRenewal::Source>& keys) const;
  // Adds the keys of the job's store, and where they are read again.
  void add_keys(StepData::Context& context, const plan::Plan& plan) const;
  // Adds which Secret they are copied to.
  void add_keys(DataContext& context, const plan::Plan& plan) const;

 private:
  void warn_of_blanks(const plan::Plan& plan) const;
  void refer_to_copy(const plan::Plan& plan);
  [[nodiscard]] bool gives_keys(const plan::Plan& plan) const;
  Result<void> connect_elsewhere(const Json& secret, bool in_haste);

  Context m_context;
  std::unique_ptr<kube::Client> m_remote;  // of the cluster of the job, if it is another one
  SecretToken* m_token = nullptr;          // its token
  std::unique_ptr<TokenRenewal> m_renewal;
  std::string m_name_space, m_home_where;
  Facts m_facts;
  Json m_configuration;  // the Secret; null: none
  std::optional<JobStore> m_job_store;
  std::string m_access_mode;
  bool m_elsewhere = false;   // the Secret names another cluster
  bool m_whole_keys = false;  // KeysCopy::whole
};

}  // namespace trainstep::cluster
