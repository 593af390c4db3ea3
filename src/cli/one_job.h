// Common to the commands that look at jobs: the cluster, its jobs, and their names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "cli/connection.h"
#include "cli/jobs_command.h"
#include "cluster/jobs.h"

namespace trainstep::cli {

// How long a server that does not respond is waited for.
inline constexpr Duration jobs_timeout{30'000};

// "jobs/train-1"
std::string shown_name(const cluster::Submitted& job);

// Connects to the cluster of the command; `access`: read-only commands get a read-only transport. Errors: input.
Result<std::unique_ptr<Connection>> connect(const JobsCommand& command, Access access);
// Lists the jobs of all known job types in the namespace. Waits at most jobs_timeout. Errors: those of cluster::find_jobs().
Result<cluster::Found> find_jobs(Connection& connection);
// Error unless there is exactly one.
Result<cluster::Submitted> find_one(Connection& connection, const std::string& run);

}  // namespace trainstep::cli
