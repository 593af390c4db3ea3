// The members of a local run. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"

namespace trainstep::local {

struct GangMember {
  std::string name;          // "worker-1"; with several processes per worker "worker-1.0"; "launcher"; "setup"
  std::string type;          // replica type; empty for "setup"
  int index = 0;             // of the replica
  int local_rank = 0;        // among the processes of its replica
  bool primary = false;      // exactly one: its log is the training's log, its outputs are the run's outputs
  bool beside = false;       // in a cluster it is in the primary's pod, or is the primary
  bool awaited = false;      // the run has succeeded when all of these have; the others are then stopped
  bool serves = false;       // runs until stopped: never waited for
  bool trains = false;       // takes part in the computation (job_types::Replicas)
  bool output_only = false;  // never started or stopped itself: only emits MemberOutput
};

// follow::MemberIndex is the index in this list: the job type's replicas in order, each by index and local rank. With MPI, the launcher (mpirun) is
// member 0 and awaited; its ranks follow, output-only, with rank 0 as the primary; if the program starts its own ranks, there is only the launcher.
// The last member is always "setup", output-only: messages of the backend itself (warnings, package installation), also before Prepared.
std::vector<GangMember> gang(const plan::Plan& plan);

// How many processes of a replica we start ourselves.
int processes_per_replica(const plan::Plan& plan);

// Whether the ranks are started by a launcher (mpirun) that we start. False if the program starts a launcher itself.
bool ranks_are_launched(const plan::Plan& plan);

// Checks the limit of one machine. Error (input): more than 512 processes, which is more likely a mistake than a training run.
Result<void> check_gang(const plan::Plan& plan);

// How many files a local run has open at most: `least` for its own pipes, `best` also for mpirun's, which has two or three for each rank.
struct OpenFiles {
  std::size_t least = 0, best = 0;
};
OpenFiles open_files(const plan::Plan& plan);

}  // namespace trainstep::local
