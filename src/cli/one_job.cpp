// SPDX-License-Identifier: Apache-2.0
#include "cli/one_job.h"

#include <fmt/format.h>

#include <utility>

namespace trainstep::cli {

std::string shown_name(const cluster::Submitted& job) {
  return fmt::format("{}/{}", job.resource.plural, text_of(&job.object, {"metadata", "name"}));
}

Result<cluster::Found> find_jobs(Connection& connection) {
  Result<cluster::Found> found = internal_error("no answer");
  cluster::find_jobs(connection.client, connection.name_space, [&](Result<cluster::Found> result) {
    found = std::move(result);
    connection.loop.stop();
  });
  connection.loop.run();
  return found;
}

Result<cluster::Submitted> find_one(Connection& connection, const std::string& run) {
  ASSIGN(auto found, find_jobs(connection));
  return cluster::choose(std::move(found), run, connection.name_space);
}

Result<std::unique_ptr<Connection>> connect(const JobsCommand& command, Access access) {
  ASSIGN(auto place, find_cluster(command.context, command.name_space));
  return std::make_unique<Connection>(std::move(place), access);
}

}  // namespace trainstep::cli
