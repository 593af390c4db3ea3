// The machine's GPUs, divided among the gang by CUDA_VISIBLE_DEVICES.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "process/child.h"

namespace trainstep::local {

// The ids that CUDA_VISIBLE_DEVICES of `environment` allows, else one for each /dev/nvidia<number>.
std::vector<std::string> machine_gpus(const process::Variables& environment);

// One replica and the GPUs it wants.
struct GpuShare {
  std::string type;
  int index = 0;
  int wanted = 0;
  std::string devices;  // for CUDA_VISIBLE_DEVICES; empty: none
};

struct GpuDivision {
  std::vector<GpuShare> shares;  // the replicas in their order
  std::string warning;           // a sentence; empty: all is as asked
};

// Each replica gets its own GPUs, in their order. MPI: the ranks of all workers are on this one host, where a rank's local number counts through all
// of them, so each replica sees the GPUs of all. Without any GPU training goes on by CPU, with a warning; GPUs that nobody asked for stay unseen, as
// in a cluster. Error (input): there are GPUs, but fewer than wanted.
Result<GpuDivision> divide_gpus(const plan::Plan& plan, const std::vector<std::string>& gpus);

}  // namespace trainstep::local
