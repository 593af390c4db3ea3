// Writes the files that mpirun and its ranks read, and opens the FIFOs of their output.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "local/mpi.h"

namespace trainstep::local {

// Hostfile, dispatcher and one script for each rank. The FIFOs for the ranks' output are opened for reading (non-blocking) before any rank starts:
// stdout and stderr of rank 0, of rank 1, …. The scripts contain the program's variables: only their owner may read them.
Result<std::vector<Fd>> write_ranks(const MpiFiles& files, MpiFlavour flavour, const std::vector<RankCommand>& ranks);

// Removes scripts and FIFOs, which exist only during the run.
void remove_ranks(const MpiFiles& files);

}  // namespace trainstep::local
