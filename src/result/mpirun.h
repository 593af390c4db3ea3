// Which rank failed first, in mpirun's own words. Sources: Open MPI 4 and 5 (prte), MPICH and Intel MPI (hydra).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

namespace trainstep::result {

struct MpiFailure {
  int rank = 0;                  // in MPI_COMM_WORLD
  std::optional<int> exit_code;  // one of the two is set, or none when mpirun says only which rank it was
  std::optional<int> signal;
  std::string host;  // as mpirun names it; may be empty
};

// `tail`: lines of the launcher's standard error or log, oldest first. The first report in it counts: later ones follow from it.
std::optional<MpiFailure> find_mpi_failure(std::span<const std::string> tail);

}  // namespace trainstep::result
