// The role of a pod, or of a rank in it, in its job.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "process/child.h"

namespace trainstep::agent {

enum class Role {
  primary,   // its outputs are the job's
  replica,   // any other: its outputs are not used
  indexed,   // the primary if it is the first of its type, by JOB_COMPLETION_INDEX or the host name
  rank,      // a process started by mpirun: rank 0 is the primary, but its pod does not report to the step
  launcher,  // mpirun's pod: delivers nothing, fetches rank 0's report when mpirun has ended
};
// Error: usage.
Result<Role> role_of(std::string_view word);

// The index of a replica of an Indexed Job, whose replicas share nothing; empty: the job's replicas work together. `environment`: the replica's own.
std::string index_of(Role role, const process::Variables& environment);

// Whether this process ends its program once no step follows the job: one for each training. mpirun's pod does it for its ranks.
bool watches_lease(Role role, bool primary, const std::string& index);

// Whether the job's outputs are those of this process. `environment`: its own.
bool is_primary(Role role, const process::Variables& environment);

}  // namespace trainstep::agent
