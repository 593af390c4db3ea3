// SPDX-License-Identifier: Apache-2.0
#include "cli/exec_command.h"

#include <unistd.h>

#include <cstdlib>

#include "agent/exec.h"
#include "agent/install.h"
#include "agent/pod_message.h"
#include "base/files.h"
#include "cli/app.h"
#include "data/json.h"
#include "process/guard.h"

namespace trainstep::cli {
namespace {

constexpr std::size_t max_task_size = std::size_t{16} << 20U;

Result<plan::Task> task_of(const ExecCommand& command) {
  std::string text;
  if (!command.task.empty()) {
    ASSIGN(text, read_file(command.task, max_task_size));
  } else if (const char* variable = std::getenv(std::string(plan::task_variable).c_str())) {
    text = variable;
  } else {
    return usage_error("exec: no task; pass it in the variable TRAINSTEP_TASK, which the step sets in its pods, or with --task FILE");
  }
  ASSIGN(const auto json, parse_json(text, "task"));
  return plan::read_task(json);
}

}  // namespace

int run_exec(const ExecCommand& command) {
  if (command.report) return agent::print_report(command.scratch);
  if (!command.install.empty()) {
    const auto installed = agent::install(command.install);
    return installed ? 0 : report(installed.error());
  }
  agent::ExecOptions options;
  const auto role = agent::role_of(command.role);
  if (!role) return report(role.error());
  options.role = *role;
  options.scratch = command.scratch;
  options.argv = command.argv;
  if (const char* place = std::getenv("TRAINSTEP_TERMINATION_LOG")) options.termination_log = place;
  const auto task = task_of(command);
  if (!task) {
    agent::report_error(task.error(), options.termination_log);
    return report(task.error());
  }
  if (::getpid() == 1) return agent::exec(*task, options);  // all other processes of its container end with it
  return process::run_guarded([&](int guard_fd) {
    options.guard = guard_fd;
    return agent::exec(*task, options);
  });
}

}  // namespace trainstep::cli
