// The launcher of an MPI job: mpirun runs here, rank 0 and its outputs are elsewhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/exec.h"
#include "result/pod_report.h"

namespace trainstep::agent {

// Runs mpirun (options.argv), then fetches the report that rank 0 has left in its pod, the way that mpirun reaches it: by ssh, or by what
// OMPI_MCA_plm_rsh_agent names.
result::PodReport launch(const plan::Task& task, const ExecOptions& options);

// The hosts of a hostfile, in its order: "host slots=2", "host:2".
std::vector<std::string> hosts_in(std::string_view hostfile);

}  // namespace trainstep::agent
