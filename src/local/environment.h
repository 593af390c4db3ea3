// The environment of a local replica: what the operator would set, and what is needed on one machine. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job_types/job_type.h"
#include "local/gang.h"
#include "plan/plan.h"
#include "process/child.h"

namespace trainstep::local {

struct HostEnvironment {
  process::Variables own;             // of this process
  std::filesystem::path tools;        // prepended to the PATH (interpreter.h)
  std::filesystem::path interpreter;  // its folder comes next; empty: none was chosen
  int cores = 1;
};

// The variables of the plan that exist on this machine. A TMPDIR that was passed on is not among them: the run has its own (scratch.h).
process::Variables plan_variables(const plan::Plan& plan, const std::string& type, const plan::Placement& placement);

// Inherited variables, then those of the plan, then the operator's, which override them as in a cluster (docs/design/operators.md, Environment), then
// ours: rank variables for processes that we start ourselves, unbuffered Python, OMP_NUM_THREADS (cores divided by processes) unless it is set,
// loopback for gloo. `placement`: the member's. `devices`: CUDA_VISIBLE_DEVICES.
process::Variables member_environment(const plan::Plan& plan, const GangMember& member, const plan::Placement& placement,
                                      const job_types::AddressBook& addresses, const std::string& devices, const HostEnvironment& host);

// What the plan's environment takes from a cluster and is not available here, one sentence for each variable.
std::vector<std::string> environment_warnings(const plan::Plan& plan, const process::Variables& own);

}  // namespace trainstep::local
