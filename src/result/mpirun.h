// Which rank failed first, in mpirun's own words. Sources: Open MPI 4 and 5 (prte), MPICH and Intel MPI (hydra).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

namespace trainstep::result {

struct MpiFailure {
  std::optional<int> rank;       // in MPI_COMM_WORLD; absent: MPICH names only the process and its host
  std::optional<int> exit_code;  // one of these two is set
  std::optional<int> signal;
  std::string host;  // as mpirun names it; may be empty
};

// `tail`: lines of the launcher's standard error or log, oldest first. The first report in it counts: later ones follow from it.
std::optional<MpiFailure> find_mpi_failure(std::span<const std::string> tail);

}  // namespace trainstep::result
