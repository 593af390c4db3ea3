// SPDX-License-Identifier: Apache-2.0
#include "agent/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/pod_message.h"
#include "agent/program.h"
#include "agent/rank_report.h"
#include "base/files.h"
#include "base/text.h"

namespace trainstep::agent {
namespace {

using result::PodReport;
using result::VerdictClass;

constexpr auto hostfile = "/etc/mpi/hostfile";  // set up by the operators
constexpr std::size_t max_hostfile_size = std::size_t{4} << 20U;

RankReport report_of_rank_0(PollLoop& loop, const process::Variables& environment, const ExecOptions& options, const std::string& attempt,
                            bool retries) {
  const auto hosts = read_file(hostfile, max_hostfile_size);
  if (!hosts) return {.report = {}, .unreachable = hosts.error().message};
  std::error_code unknown;
  RankReportQuery query{.hosts = hosts_in(*hosts),
                        .environment = environment,
                        .program = std::filesystem::read_symlink("/proc/self/exe", unknown).string(),
                        .scratch = options.scratch,
                        .attempt = attempt};
  if (!retries) query.retry_for = Duration(0);
  return fetch_rank_report(loop, query);
}

PodReport failed(VerdictClass verdict_class, int exit_code, std::string message) {
  PodReport report;
  report.verdict_class = verdict_class;
  report.exit_code = exit_code;
  report.message = std::move(message);
  return report;
}

// What a cloud's webhook sets for the pod's service account. No keys: others can see what is forwarded.
constexpr std::array identity{"AWS_ROLE_ARN",
                              "AWS_WEB_IDENTITY_TOKEN_FILE",
                              "AWS_ROLE_SESSION_NAME",
                              "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                              "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                              "AWS_REGION",
                              "AWS_DEFAULT_REGION"};

}  // namespace

std::vector<std::string> with_identity(std::vector<std::string> argv, const process::Variables& environment) {
  const auto forwarded = [&argv](std::string_view name) {
    return std::ranges::adjacent_find(argv, [&](const auto& a, const auto& b) { return a == "-x" && b == name; });
  };
  const auto place = forwarded(plan::task_variable);
  if (place == argv.end()) return argv;
  std::vector<std::string> more;
  for (const auto* name : identity)
    if (process::find_variable(environment, name) != nullptr && forwarded(name) == argv.end()) more.insert(more.end(), {"-x", name});
  argv.insert(place, more.begin(), more.end());
  return argv;
}

std::vector<std::string> hosts_in(std::string_view text) {
  std::vector<std::string> hosts;
  for (auto line : split(text, '\n')) {
    line = trim(line.substr(0, line.find('#')));
    const auto host = line.substr(0, line.find_first_of(" \t:"));
    if (!host.empty()) hosts.emplace_back(host);
  }
  return hosts;
}

PodReport launch(PollLoop& loop, const plan::Task& task, const ExecOptions& options, const std::function<void()>& ended) {
  const auto environment = process::own_environment();
  const auto end = run_program(loop, with_identity(options.argv, environment), environment);
  ended();
  if (!end) {
    const auto verdict = result::from_error(end.error());
    return failed(verdict.verdict_class, result::exit_code(verdict), end.error().message);
  }
  if (end->killed_any) log(fmt::format("mpirun has ended; killed the processes it left running: {}", end->outlived));
  if (end->succeeded() && !end->survivors.empty()) {
    const auto verdict = result::from_error({ErrorKind::internal, ""});
    return failed(verdict.verdict_class, result::exit_code(verdict), fmt::format("cannot stop processes left running by mpirun: {}", end->survivors));
  }
  // If mpirun has failed, a host may be gone, and the exit code is sufficient.
  const auto found = report_of_rank_0(loop, environment, options, task.attempt, end->succeeded() && !task.outputs.empty());
  const bool agents_failure = found.report && found.report->verdict_class != VerdictClass::succeeded;
  if (!end->succeeded()) return agents_failure ? *found.report : failed(VerdictClass::user, end->code, "");
  if (found.report) return *found.report;
  if (task.outputs.empty()) return failed(VerdictClass::succeeded, 0, "");
  const auto verdict = result::from_error({ErrorKind::unavailable, ""});
  return failed(verdict.verdict_class, result::exit_code(verdict),
                found.unreachable.empty() ? fmt::format("mpirun succeeded, but none of the workers in {} has the report of rank 0", hostfile)
                                          : fmt::format("mpirun succeeded, but the report of rank 0 cannot be fetched: {}", found.unreachable));
}

}  // namespace trainstep::agent
