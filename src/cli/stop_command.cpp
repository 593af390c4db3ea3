// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/app.h"
#include "cli/one_job.h"
#include "cli/print.h"
#include "cluster/job_data.h"
#include "cluster/pods_end.h"
#include "cluster/removal.h"
#include "data/secrets.h"

namespace trainstep::cli {
namespace {

kube::Path path_of(const Connection& connection, const cluster::Submitted& job) {
  return {std::string(job.resource.group_version), std::string(job.resource.plural), connection.name_space,
          text_of(&job.object, {"metadata", "name"}), ""};
}

// Deletes the job after its pods.
cluster::Removal::Outcome remove(Connection& connection, const cluster::Submitted& job, const std::string& uid) {
  cluster::Removal::Order order{path_of(connection, job), uid};
  order.timeout = jobs_timeout;
  order.silence = jobs_timeout;
  order.to_the_end = true;
  cluster::Removal::Outcome ended;
  bool told = false;
  const auto failing = [&](const kube::ApiError& problem) {
    if (problem.status != 0 && !std::exchange(told, true)) connection.tell(problem.error.message + "; trying again");
  };
  const auto remains = [&](const Json& object) {
    connection.tell(fmt::format("{} is being deleted; waiting for {} (Ctrl-C only stops waiting)", shown_name(job), cluster::what_remains(object)));
  };
  const cluster::Removal removal(connection.client, std::move(order), {failing, remains, [&](cluster::Removal::Outcome outcome) {
                                                                         ended = std::move(outcome);
                                                                         connection.loop.stop();
                                                                       }});
  connection.loop.run();
  return ended;
}

// Another client may have deleted the job in the background: then it disappears before its pods.
std::optional<kube::ApiError> await_pods(Connection& connection, const cluster::Submitted& job) {
  const auto plan = cluster::plan_of(job);
  if (!plan) return std::nullopt;
  std::optional<kube::ApiError> problem;
  const auto remains = [&](const std::string& pod) {
    connection.tell(fmt::format("{} is deleted; waiting for its pod {} (Ctrl-C only stops waiting)", shown_name(job), pod));
  };
  const cluster::PodsEnd end(connection.client, job, *plan, jobs_timeout, {remains, [&](const std::optional<kube::ApiError>& why) {
                                                                             problem = why;
                                                                             connection.loop.stop();
                                                                           }});
  connection.loop.run();
  return problem;
}

// An attempt of its step may create the job again while it is being deleted.
bool is_there_again(Connection& connection, const cluster::Submitted& job, const std::string& uid) {
  bool again = false;
  const auto call = connection.client.get(path_of(connection, job), {}, {jobs_timeout}, [&](const kube::Answer& answer) {
    again = answer && text_of(&*answer, {"metadata", "uid"}) != uid;
    connection.loop.stop();
  });
  connection.loop.run();
  return again;
}

// The step removes them, if it still exists: only it has the credentials.
void tell_data(Connection& connection, const cluster::Submitted& job) {
  const auto left = cluster::data_left_of(job.object);
  if (left.empty()) return;
  connection.tell(fmt::format(
      "the job's inputs and outputs are kept unless its step is still running and removes them: {}; remove them with a client of that store",
      fmt::join(left, ", ")));
}

Result<int> stop(const JobsCommand& command) {
  TRY(cluster::check_run(command.run));
  ASSIGN(const auto connection, connect(command, Access::write));
  ASSIGN(const auto job, find_one(*connection, command.run));
  std::vector<std::string> secrets;
  collect_secrets_of_containers(job.object, secrets);
  add_base64(secrets);
  conceal(std::move(secrets));
  const auto uid = text_of(&job.object, {"metadata", "uid"});
  if (uid.empty()) return internal_error(shown_name(job) + " has no uid; not deleted, because another object may have the same name");
  auto ended = remove(*connection, job, uid);
  const bool gone = ended.end == cluster::Removal::End::gone;
  if (gone) ended.problem = await_pods(*connection, job);
  if (ended.end == cluster::Removal::End::failed) return ended.error();
  if (ended.problem && ended.problem->error.kind != ErrorKind::denied)
    return in_context(
        gone ? "the job is deleted, but it is unknown whether its pods are gone" : "the job is being deleted, but it is unknown whether it is gone",
        std::move(ended.problem->error));
  if (gone && is_there_again(*connection, job, uid))
    return Error{ErrorKind::unavailable, fmt::format("{} was deleted, but its step has created it again; stop it again", shown_name(job))};
  tell_data(*connection, job);
  return print(fmt::format("{} {}\n", shown_name(job),
                           !ended.problem ? "and its pods are deleted"
                           : gone         ? "is deleted; no permission to see whether its pods are gone"
                                          : "is being deleted; no permission to see whether its pods are gone"));
}

}  // namespace

int run_stop(const JobsCommand& command) { return exit_code_of(stop(command)); }

}  // namespace trainstep::cli
