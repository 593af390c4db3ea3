// The environment of a local replica: what the operator would give it, and what one machine needs besides. Pure.
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
  std::filesystem::path tools;        // goes in front of the PATH (interpreter.h)
  std::filesystem::path interpreter;  // its folder comes next; empty: none was chosen
  int cores = 1;
};

// A variable of a step or of another distributed run around us: it must not reach the gang.
bool belongs_to_step(std::string_view name);

// Inherited variables, then those of the plan, then the operator's, which win on a clash as they do in a cluster (docs/design/operators.md,
// Environment), then ours: rank variables for processes that we start ourselves, unbuffered Python, one thread for each core divided by the
// processes (OMP_NUM_THREADS) unless somebody chose, loopback for gloo. `devices`: CUDA_VISIBLE_DEVICES.
process::Variables member_environment(const plan::Plan& plan, const GangMember& member, const job_types::AddressBook& addresses,
                                      const std::string& devices, const HostEnvironment& host);

// What the environment of the plan asks of a cluster and cannot be had here, a sentence for each variable.
std::vector<std::string> environment_warnings(const plan::Plan& plan, const process::Variables& own);

}  // namespace trainstep::local
