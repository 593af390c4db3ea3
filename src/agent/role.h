// What a pod, or a rank in it, is among those of its job.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "process/child.h"

namespace trainstep::agent {

// What this process is among the job's.
enum class Role {
  primary,   // its outputs are those of the job
  replica,   // one of the others: its outputs are nobody's
  indexed,   // the primary if it is the first of its type: JOB_COMPLETION_INDEX or the host's name tell
  rank,      // a process that mpirun has started: rank 0 is the primary, its pod is not the one that tells the step
  launcher,  // mpirun's pod: brings nothing, fetches rank 0's report when mpirun has ended
};
// Error: usage.
Result<Role> role_of(std::string_view word);

// The index of a replica of an Indexed Job, whose replicas share nothing; empty: the job's replicas work together. `environment`: its own.
std::string index_of(Role role, const process::Variables& environment);

// Whether the job's outputs are this process's. `environment`: its own.
bool is_primary(Role role, const process::Variables& environment);

}  // namespace trainstep::agent
