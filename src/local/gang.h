// Who takes part in a local run. Pure.
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
  bool primary = false;      // exactly one: its log is the training's log, the real outputs are its
  bool beside = false;       // in a cluster it is in the primary's pod, or is the primary
  bool awaited = false;      // the run has succeeded when all of these have; the others are stopped then
  bool serves = false;       // runs until it is stopped: never waited for
  bool trains = false;       // has a share in the computation (job_types::Replicas)
  bool output_only = false;  // never started or stopped by order: only MemberOutput comes from it
};

// follow::MemberIndex is the position in this list: the kind's replicas in their order, each by index and local rank. With MPI the launcher (mpirun)
// is member 0 and awaited, and its ranks follow, output-only, rank 0 the primary one; when the program starts its own ranks there is only the
// launcher. The last member is always "setup", output-only: what the backend itself has to say (warnings, the installation of packages), also before
// Prepared.
std::vector<GangMember> gang(const plan::Plan& plan);

// How many processes of a replica we start ourselves.
int processes_per_replica(const plan::Plan& plan);

// A launcher (mpirun) that we start starts the ranks. False also where the program starts a launcher itself.
bool ranks_are_launched(const plan::Plan& plan);

// What one machine is asked for at most. Error (input): more processes than 512, which is a mistake rather than a training.
Result<void> check_gang(const plan::Plan& plan);

// How many files a local run has open at most: `least` for its pipes, `best` also for those of mpirun, which has two or three for each rank.
struct OpenFiles {
  std::size_t least = 0, best = 0;
};
OpenFiles open_files(const plan::Plan& plan);

}  // namespace trainstep::local
