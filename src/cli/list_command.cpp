// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/printable.h"
#include "cli/app.h"
#include "cli/one_job.h"
#include "cli/print.h"
#include "cluster/jobs.h"
#include "cluster/ownership.h"
#include "job_types/conditions.h"
#include "result/verdict.h"

namespace trainstep::cli {
namespace {

std::string_view state_of(const cluster::Submitted& job, const plan::Plan& plan) {
  using enum job_types::Judgement::State;
  if (!text_of(&job.object, {"metadata", "deletionTimestamp"}).empty()) return "deleting";
  const auto judged = job_types::find(plan.job_type).judge(job.object);
  if (judged.reason == job_types::contradicted) return "unclear";  // its status reports both ends
  switch (judged.state) {
    case pending:
      return "pending";
    case suspended:
      return "suspended";
    case running:
      return "running";
    case restarting:
      return "restarting";
    case succeeded:
      return cluster::outcome_of(job.object).value_or(result::VerdictClass::succeeded) == result::VerdictClass::succeeded ? "succeeded" : "failed";
    case failed:
      return "failed";
    case unknown:
      break;
  }
  return "created";
}

std::string or_none(const std::string& text) { return text.empty() ? "<none>" : text; }

// The Python package reads this table (sdk/trainstep/_jobs.py).
Result<int> list(const JobsCommand& command) {
  ASSIGN(const auto connection, connect(command, Access::read));
  ASSIGN(const auto found, find_jobs(*connection));
  auto table = fmt::format("{:<24} {:<10} {:<40} {:<11} {}\n", "RUN", "KIND", "JOB", "STATE", "SINCE");
  for (const auto& job : found.jobs) {
    ASSIGN(const auto plan, cluster::plan_of(job));
    table += printable(fmt::format("{:<24} {:<10} {:<40} {:<11} {}", or_none(plan.run_id), plan.job_type, plan.job_name, state_of(job, plan),
                                   or_none(text_of(&job.object, {"metadata", "creationTimestamp"})))) +
             '\n';
  }
  if (!found.hidden.empty()) complain(found.what_is_hidden());
  if (const int code = print(table); code != 0) return code;
  // Who may not list a job type knows that; a server that failed may hide jobs.
  const auto failed = std::ranges::find_if(found.hidden, [](const Error& error) { return error.kind != ErrorKind::denied; });
  return failed == found.hidden.end() ? 0 : result::exit_code(result::from_error(*failed));
}

}  // namespace

int run_list(const JobsCommand& command) { return exit_code_of(list(command)); }

}  // namespace trainstep::cli
