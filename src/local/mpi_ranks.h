// Puts down what mpirun and its ranks read, and opens the ends of what they write.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "local/mpi.h"

namespace trainstep::local {

// Hostfile, dispatcher and one script for each rank. The FIFOs of the ranks' output are open for reading (not blocking) before any rank is: out and
// err of rank 0, of rank 1, …. The scripts hold the program's variables: only their owner may read them.
Result<std::vector<Fd>> write_ranks(const MpiFiles& files, MpiFlavour flavour, const std::vector<RankCommand>& ranks);

// Scripts and FIFOs: they go with the run.
void remove_ranks(const MpiFiles& files);

}  // namespace trainstep::local
