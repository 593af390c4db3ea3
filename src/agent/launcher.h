// The launcher of an MPI job: mpirun runs here, rank 0 and its outputs are elsewhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/exec.h"
#include "process/child.h"
#include "result/pod_report.h"

namespace trainstep::agent {

// Runs mpirun (options.argv), then fetches the report that rank 0 has left in its pod, the way that mpirun reaches it: by ssh, or by what
// OMPI_MCA_plm_rsh_agent names.
result::PodReport launch(const plan::Task& task, const ExecOptions& options);

// mpirun's words, which forward the task (mpirun -x), with the variables of the pod's identity forwarded as well: they come into a pod when it is
// made, the step cannot know them. Ranks have the same service account, and its token in a file of the same name.
std::vector<std::string> with_identity(std::vector<std::string> argv, const process::Variables& environment);

// The hosts of a hostfile, in its order: "host slots=2", "host:2".
std::vector<std::string> hosts_in(std::string_view hostfile);

}  // namespace trainstep::agent
