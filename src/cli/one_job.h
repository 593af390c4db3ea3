// What the commands that look at jobs have in common: the cluster, the jobs in it, and their names.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "cli/connection.h"
#include "cli/jobs_command.h"
#include "cluster/jobs.h"

namespace trainstep::cli {

// So long a server that does not answer is waited for.
inline constexpr Duration jobs_patience{30'000};

// A string in an object; "": there is none at this place.
std::string text(const Json& object, const char* pointer);
// "jobs/train-1"
std::string shown_name(const cluster::Submitted& job);

Result<std::unique_ptr<Connection>> connect(const JobsCommand& command, Access access);
Result<cluster::Found> find(Connection& connection);
// Exactly one.
Result<cluster::Submitted> find_one(Connection& connection, const std::string& run);

}  // namespace trainstep::cli
