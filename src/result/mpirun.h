// Finds which rank failed first in the output of mpirun: Open MPI 4 and 5 (prte), MPICH and Intel MPI (hydra).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

namespace trainstep::result {

struct MpiFailure {
  std::optional<int> rank;       // in MPI_COMM_WORLD; absent: MPICH reports only the process and its host
  std::optional<int> exit_code;  // exactly one of these two is set
  std::optional<int> signal;
  std::string host;  // as named by mpirun; may be empty
};

// `tail`: lines of the launcher's standard error or log, oldest first. Returns the first report: later ones are consequences of it.
std::optional<MpiFailure> find_mpi_failure(std::span<const std::string> tail);

}  // namespace trainstep::result
