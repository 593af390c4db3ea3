// What a step requests from the API server, as RBAC rules. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/facts.h"
#include "data/json.h"
#include "job_types/job_type.h"
#include "plan/plan.h"

namespace trainstep::cluster {

// "kubeflow.org" of "kubeflow.org/v1"; empty: core.
std::string group_of(std::string_view group_version);

struct Permission {
  std::string group;     // "kubeflow.org"; empty: core
  std::string resource;  // "pytorchjobs", "pods/log"
  std::string verb;      // "create"
  bool needed = true;    // false: the step runs without it, and reports less
  std::string name{};    // of the only object that it is for; empty: any
  std::string lost{};    // if it is not needed, what happens without it; empty: less is reported
  bool of_step = false;  // in the cluster of the step, wherever its job is
};

// For a job of this resource. `facts`: of the step.
std::vector<Permission> permissions_of(const job_types::Resource& resource, const Facts& facts);

// What is known of the step in addition to its plan.
struct DataContext {
  bool has_addresses = false;                        // KFP's configuration of object stores is read (cluster/data.h)
  std::string configuration_secret{};                // read for the cluster and the bucket; empty: none
  std::optional<bool> claim_is_there{};              // that of pvc_name; nullopt: it may not be read
  bool claim_is_of_jobs = false;                     // … and was created for jobs (claim_owners.h)
  std::map<std::string, std::string> environment{};  // of the step: for credentials that are in no Secret
  // The keys to the bucket that a job in another cluster takes along: the Secret that it gets, and the one that they are from. Empty: none.
  std::string keys_copy{}, keys_secret{};
};
// What the ways of the data need in addition, only if this step uses them. The plan's data have been routed.
std::vector<Permission> data_permissions_of(const plan::Plan& plan, const DataContext& context);

using trainstep::describe;  // that of a duration is not hidden by this one
// "get secrets training", "create pytorchjobs.kubeflow.org": for messages.
std::string describe(const Permission& right);
// The same, with the verbs for one resource together: "create, delete jobs.batch; get secrets training".
std::string describe(const std::vector<Permission>& rights);

// What the agent in the pods needs, as their service account: to look at the Lease.
Permission permission_of_pods();
// "default", unless job_options.service_account names another one.
std::string account_of_pods(const plan::Plan& plan);
// The body of a LocalSubjectAccessReview (authorization.k8s.io/v1) about that service account.
Json access_review(const Permission& right, const std::string& name_space, const std::string& account);
// The body of a SelfSubjectAccessReview (authorization.k8s.io/v1).
Json access_review(const Permission& right, const std::string& name_space);
// Its response. Any JSON is allowed: what is not a response allows nothing.
bool allowed(const Json& review);
// Why the authorizer could not decide (status.evaluationError), for example because its webhook does not answer; empty: it has decided.
std::string undecided(const Json& review);

// Of a Role, but not that of component/kubernetes, which it complements; and the one for the pods, which is.
inline constexpr std::string_view missing_role = "trainstep-missing", pods_role = "trainstep-pods";
// A Role with these permissions, ready to be applied; those for one object name it.
Json role(const std::vector<Permission>& rights, const std::string& name_space, std::string_view name = missing_role);
// The body of a SelfSubjectReview (authentication.k8s.io/v1), of a server that is at least 1.28.
Json subject_review();
// Who made the request, according to the response to a SelfSubjectReview (authentication.k8s.io/v1), as the subject of a RoleBinding; null: it does
// not say. Any JSON is allowed.
Json subject_of(const Json& review);
// Binds that Role to the subject.
Json role_binding(const Json& subject, const std::string& name_space, std::string_view name = missing_role);

}  // namespace trainstep::cluster
