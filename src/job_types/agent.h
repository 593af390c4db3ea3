// Adds the agent to a pod: an init container installs it, it is prepended to the program's command line, its task is in a variable (docs/data.md).
// Does nothing if the plan has no agent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "job_types/job_type.h"
#include "job_types/launch.h"
#include "job_types/manifest.h"
#include "plan/plan.h"

namespace trainstep::job_types {

// The program's command line, preceded by the agent's. `role`: agent::Role.
Arguments with_agent(const plan::Plan& plan, std::string_view role, Arguments program);

// "primary" or "replica"; "indexed" for replicas that share one template and include the primary.
std::string role_of(const Replicas& replicas);

// Adds init container, volumes, mounts and the task, for the pod's first container. `type`: the replica type whose job_options apply.
void add_agent(const plan::Plan& plan, const std::string& type, Manifest& pod);

// The volume with the credentials for task.stores[index], in every pod.
std::string keys_volume(std::size_t index);

}  // namespace trainstep::job_types
