// What a step asks of the API server, as Kubernetes' own rules of access say it. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cluster/facts.h"
#include "data/json.h"
#include "kinds/kind.h"

namespace trainstep::cluster {

struct Right {
  std::string group;     // "kubeflow.org"; empty: core
  std::string resource;  // "pytorchjobs", "pods/log"
  std::string verb;      // "create"
  bool needed = true;    // false: the step runs without it, and tells less
};

// For a job of this resource, in the cluster where the step is.
std::vector<Right> rights_of(const kinds::Resource& resource, const Facts& facts);

// The body of a SelfSubjectAccessReview (authorization.k8s.io/v1).
Json access_review(const Right& right, const std::string& name_space);
// Its answer. Any JSON is allowed: what is not an answer allows nothing.
bool allowed(const Json& review);

// A Role that gives these rights, ready to be applied.
Json role(const std::vector<Right>& rights, const std::string& name_space);

}  // namespace trainstep::cluster
