// Fetches the report that rank 0 of an MPI job has left in its pod, on one of the hosts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/poll_loop.h"
#include "process/child.h"
#include "result/pod_report.h"

namespace trainstep::agent {

struct RankReportQuery {
  std::vector<std::string> hosts;
  process::Variables environment;  // OMPI_MCA_plm_rsh_agent: the program that reaches a host, as for mpirun; if unset, ssh
  std::string program;             // this program's path on the hosts
  std::string scratch;             // where rank 0 has left the report
  std::string attempt;             // Task::attempt; a report of another attempt is ignored
  Duration retry_for{120'000};     // unreachable hosts are retried for this long; 0: never
  Duration pause{2'000};           // between two rounds
};

struct RankReport {
  std::optional<result::PodReport> report;
  std::string unreachable;  // "HOST: why" of the first host that could not be asked; empty: all answered that they have no report
};

// Asks the hosts one after another, each for at most a minute. A host that has answered is not asked again. SIGTERM, SIGINT and SIGHUP end the wait.
RankReport fetch_rank_report(PollLoop& loop, const RankReportQuery& query);

}  // namespace trainstep::agent
