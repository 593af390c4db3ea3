// How the ranks of a program are started: the program's own command line, optionally preceded by torchrun or mpirun. For pods and for local replicas.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace trainstep::job_types {

using Arguments = std::vector<plan::Sourced<std::string>>;

// The program's own command line. Errors as plan::command_line.
Result<Arguments> program_arguments(const plan::Plan& plan, const plan::Placement& placement);

// PyTorch. With one process per pod and a Master, the program itself is a rank. Otherwise torchrun starts the ranks, unless the program does so
// itself (plan::starts_own_ranks): the operator's RANK and WORLD_SIZE count pods and processes, and are not set for an elastic job
// (docs/design/operators.md, PyTorchJob). torchrun is configured completely by the PET_ variables.
Arguments torchrun_arguments(const plan::Plan& plan, Arguments program);

struct MpiPlace {
  std::string hostfile;                // path as seen by mpirun
  std::vector<std::string> forwarded;  // variables of mpirun's environment to pass to the ranks (Open MPI; Hydra passes all of them)
};

// MPI: mpirun and the program, or only the program if it starts its own ranks. The number of ranks is workers × processes per worker.
Arguments mpirun_arguments(const plan::Plan& plan, const MpiPlace& place, Arguments program);

// The arguments without their sources.
std::vector<std::string> texts(const Arguments& words);

}  // namespace trainstep::job_types
