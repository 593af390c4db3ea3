// What the planner needs to know about a distribution_type. The values are in src/job_types/TYPE.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace trainstep::plan {

struct JobTypeTraits {
  std::string_view name;                 // canonical: "PyTorch"
  std::vector<std::string_view> keys{};  // keys of distribution_specification that not all job types have
  bool one_pod = false;                  // unless "indexed" is set
  bool process_per_gpu = false;          // the default of processes_per_worker is the number of GPUs; otherwise 1
  bool launches_ranks = false;           // mpirun in one pod starts the ranks in the others
};

}  // namespace trainstep::plan
