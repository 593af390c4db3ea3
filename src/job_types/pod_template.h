// The pod template common to all job types.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "job_types/launch.h"
#include "job_types/manifest.h"
#include "plan/plan.h"

namespace trainstep::job_types {

struct PodShape {
  std::string type;                      // replica type whose job_options apply
  plan::Sourced<std::string> container;  // the training container's name
  Arguments command;                     // empty: the default of the operator or the image
  plan::Resources resources;
  std::vector<plan::EnvironmentVariable> environment;
  bool ranks = true;  // the program's processes run in this pod
};

// {"metadata": …, "spec": …} with one container. Every `$` in command and environment is doubled, because Kubernetes expands $(NAME) and replaces $$
// by $.
Manifest pod_template(const plan::Plan& plan, const PodShape& shape);

// The plan's environment, overlaid by job_options.replicas.TYPE.environment. `placement`: of the replica; without a place for an omitted input, its
// variable is omitted.
std::vector<plan::EnvironmentVariable> environment_of(const plan::Plan& plan, const std::string& type, const plan::Placement& placement);
std::vector<plan::EnvironmentVariable> overlaid(std::vector<plan::EnvironmentVariable> base, const plan::Plan& plan, const std::string& type);

}  // namespace trainstep::job_types
