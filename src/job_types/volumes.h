// The volumes of every pod: train_mount, /dev/shm, job_options.volumes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "job_types/manifest.h"
#include "plan/plan.h"

namespace trainstep::job_types {

// Adds them to a pod template whose first container is the training's. `ranks`: the program's processes run in this pod, so if there are several it
// gets a /dev/shm as large as its memory (the container runtime's default has 64 MB, too little for data loaders and NCCL).
void add_volumes(const plan::Plan& plan, const std::string& type, const plan::Resources& resources, bool ranks, Manifest& pod);

}  // namespace trainstep::job_types
