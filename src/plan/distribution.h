// Parses distribution_specification into Distribution (docs/reference.md, distribution_specification; specs/distribution_specification.schema.json).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/json.h"
#include "plan/job_type_traits.h"
#include "plan/quantity.h"

namespace trainstep::plan {

struct Elastic {
  int min = 1;
  int max = 1;
  std::optional<int> max_restarts;
};

struct Distribution {
  std::string type;  // JobTypeTraits::name
  bool type_given = false;
  int workers = 1;  // 1 … 10,000
  bool workers_given = false;
  std::optional<Quantity> worker_cpus, worker_memory;
  std::optional<int> worker_gpus;
  std::optional<Quantity> launcher_cpus, launcher_memory;
  std::optional<int> parameter_servers;  // TF; unset: one per worker
  std::optional<Quantity> parameter_server_cpus, parameter_server_memory;
  std::optional<Quantity> chief_cpus, chief_memory;
  std::optional<int> processes_per_worker;
  std::optional<int> slots_per_worker;
  std::string mpi_implementation = "OpenMPI";  // OpenMPI, Intel, MPICH
  std::vector<std::string> mpirun_arguments;
  std::string ssh_auth_mount_path;  // MPI v2beta1: where the operator mounts the SSH keys; empty: depends on the user of the pods
  std::optional<Elastic> elastic;
  bool indexed = false;
};

// Numbers may be strings, and 2.0 is 2; an unknown key is an error that names the nearest known one; distribution_type is case-insensitive. `types`:
// the available job types, the default first. Errors: input, "distribution_specification.number_of_workers: …".
Result<Distribution> parse_distribution(const Json& specification, const std::vector<JobTypeTraits>& types);

}  // namespace trainstep::plan
