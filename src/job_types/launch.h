// How the ranks of a program are started: the program's own words, or torchrun or mpirun in front of them. For pods and for local replicas.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace trainstep::job_types {

using Words = std::vector<plan::Sourced<std::string>>;

// The program's own command line. Errors as plan::command_line.
Result<Words> program_words(const plan::Plan& plan, const plan::Placement& placement);

// PyTorch. With one process in each pod and a Master, the program is its own rank. Otherwise torchrun starts the ranks, unless the program does so
// itself (plan::starts_own_ranks): RANK and WORLD_SIZE of the operator count pods and processes, and an elastic job has neither
// (docs/design/operators.md, PyTorchJob). torchrun takes everything it needs from the PET_ variables.
Words torch_words(const plan::Plan& plan, Words program);

struct MpiPlace {
  std::string hostfile;                // as mpirun sees it
  std::vector<std::string> forwarded;  // variables of mpirun's environment that the ranks must get (Open MPI; Hydra passes on all of them)
};

// MPI: mpirun and the program, or the program as it is when it starts its own ranks. The number of ranks is workers × processes per worker.
Words mpirun_words(const plan::Plan& plan, const MpiPlace& place, Words program);

std::vector<std::string> texts(const Words& words);

}  // namespace trainstep::job_types
