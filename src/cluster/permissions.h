// What a step asks of the API server, as Kubernetes' own rules of access say it. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/facts.h"
#include "data/json.h"
#include "job_types/job_type.h"
#include "plan/plan.h"

namespace trainstep::cluster {

struct Permission {
  std::string group;     // "kubeflow.org"; empty: core
  std::string resource;  // "pytorchjobs", "pods/log"
  std::string verb;      // "create"
  bool needed = true;    // false: the step runs without it, and tells less
  std::string name{};    // of the one object that it is for; empty: of any
  std::string lost{};    // where it is not needed, what becomes of the step without it; empty: it tells less
};

// For a job of this resource, in the cluster where the step is.
std::vector<Permission> permissions_of(const job_types::Resource& resource, const Facts& facts);

// What is known of the step beside its plan.
struct DataContext {
  bool has_addresses = false;                        // KFP's configuration of object stores is read (cluster/data.h)
  std::string configuration_secret{};                // read for the cluster and the bucket; empty: there is none
  std::optional<bool> claim_is_there{};              // the one of pvc_name; nullopt: that may not be read
  bool claim_is_of_jobs = false;                     // … and was made for jobs (claim_owners.h)
  std::map<std::string, std::string> environment{};  // of the step: where keys to object stores are that no Secret holds
};
// What the ways of the data need on top of that, each only where this step goes them. The plan's data have been routed.
std::vector<Permission> data_permissions_of(const plan::Plan& plan, const DataContext& context);

// "get secrets training", "create pytorchjobs.kubeflow.org": for messages.
std::string describe(const Permission& right);

// The body of a SelfSubjectAccessReview (authorization.k8s.io/v1).
Json access_review(const Permission& right, const std::string& name_space);
// Its answer. Any JSON is allowed: what is not an answer allows nothing.
bool allowed(const Json& review);

// A Role that gives these rights, ready to be applied; those for one object name it.
Json role(const std::vector<Permission>& rights, const std::string& name_space);

}  // namespace trainstep::cluster
