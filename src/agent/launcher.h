// The launcher of an MPI job: mpirun runs here, rank 0 and its outputs are in another pod.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/exec.h"
#include "base/poll_loop.h"
#include "process/child.h"
#include "result/pod_report.h"

namespace trainstep::agent {

// Runs mpirun (options.argv), then fetches the report that rank 0 has left in its pod, in the way that mpirun reaches it: with ssh, or with the
// program in OMPI_MCA_plm_rsh_agent. `ended`: mpirun has.
result::PodReport launch(PollLoop& loop, const plan::Task& task, const ExecOptions& options, const std::function<void()>& ended);

// Adds the variables of the pod's identity to mpirun's command line, which already forwards the task (mpirun -x): they are set when the pod is
// created, so the step cannot know them. Ranks have the same service account, and its token in a file of the same name.
std::vector<std::string> with_identity(std::vector<std::string> argv, const process::Variables& environment);

// The hosts of a hostfile, in order: "host slots=2", "host:2".
std::vector<std::string> hosts_in(std::string_view hostfile);

}  // namespace trainstep::agent
