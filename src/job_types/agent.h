// The agent in a pod: an init container brings it, it stands in front of the program, its task is a variable (docs/data.md). Nothing of it where the
// plan has no agent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "job_types/job_type.h"
#include "job_types/launch.h"
#include "job_types/manifest.h"
#include "plan/plan.h"

namespace trainstep::job_types {

// The program's words behind the agent's. `role`: agent::Role.
Words with_agent(const plan::Plan& plan, std::string_view role, Words program);

// "primary" or "replica"; of replicas that share one template and hold the primary, "indexed".
std::string role_of(const Replicas& replicas);

// Init container, volumes, mounts and the task, for the pod's first container. `type`: which job_options count.
void add_agent(const plan::Plan& plan, const std::string& type, Manifest& pod);

}  // namespace trainstep::job_types
