// Divides the machine's GPUs among the gang with CUDA_VISIBLE_DEVICES.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "process/child.h"

namespace trainstep::local {

// The ids in CUDA_VISIBLE_DEVICES of `environment` if it is set, otherwise one for each /dev/nvidia<number>.
std::vector<std::string> machine_gpus(const process::Variables& environment);

// One replica and the GPUs it requests.
struct GpuShare {
  std::string type;
  int index = 0;
  int wanted = 0;
  std::string devices;  // for CUDA_VISIBLE_DEVICES; empty: none
};

struct GpuDivision {
  std::vector<GpuShare> shares;  // in the order of the replicas
  std::string warning;           // a sentence; empty: everything as requested
};

// Each replica gets its own GPUs, in order. MPI: the ranks of all workers are on this one host, and their local rank counts across all workers, so
// each replica sees the GPUs of all. Without any GPU the training runs on CPUs, with a warning; GPUs that are not requested stay invisible, as in a
// cluster. Error (input): there are GPUs, but fewer than requested.
Result<GpuDivision> divide_gpus(const plan::Plan& plan, const std::vector<std::string>& gpus);

}  // namespace trainstep::local
