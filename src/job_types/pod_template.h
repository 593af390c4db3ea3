// What every pod of ours has, whatever type of job it belongs to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "job_types/launch.h"
#include "job_types/manifest.h"
#include "plan/plan.h"

namespace trainstep::job_types {

struct PodShape {
  std::string type;                      // replica type: which job_options count
  plan::Sourced<std::string> container;  // the training container's name
  Words command;                         // empty: what the operator or the image runs
  plan::Resources resources;
  std::vector<plan::EnvironmentVariable> environment;
  bool ranks = true;  // the program's processes run here
};

// {"metadata": …, "spec": …} with one container. Every `$` of command and environment stands twice, as Kubernetes makes one of two and expands
// $(NAME).
Manifest pod_template(const plan::Plan& plan, const PodShape& shape);

// The plan's environment with that of job_options.replicas.TYPE above it.
std::vector<plan::EnvironmentVariable> environment_of(const plan::Plan& plan, const std::string& type);
std::vector<plan::EnvironmentVariable> overlaid(std::vector<plan::EnvironmentVariable> base, const plan::Plan& plan, const std::string& type);

}  // namespace trainstep::job_types
