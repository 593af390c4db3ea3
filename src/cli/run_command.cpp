// SPDX-License-Identifier: Apache-2.0
#include "cli/run_command.h"

#include <fmt/format.h>

#include <cstdlib>

#include "cli/app.h"
#include "cli/termination_log.h"
#include "job_types/job_type.h"

namespace trainstep::cli {
namespace {

enum class Place { here, cluster };

// Local processes are never the default in a pod or a pipeline: the user would assume that the training runs in the cluster.
Result<Place> place_of(const StepCommand& command, const step::Inputs& inputs) {
  if (command.cluster == "local") return Place::here;
  if (command.cluster == "kubernetes") return Place::cluster;
  if (!command.cluster.empty())
    return usage_error(fmt::format("--cluster: unknown value \"{}\"; expected local (processes on this machine) or kubernetes", command.cluster));
  const bool pod = std::getenv("KUBERNETES_SERVICE_HOST") != nullptr;
  return pod || inputs.from_executor_input || !command.context.empty() ? Place::cluster : Place::here;
}

// A flag for the other place would be ignored silently.
Result<void> check_flags(const StepCommand& command, Place place) {
  if (place == Place::here && !command.context.empty()) return usage_error("--context: cannot be combined with --cluster local; omit one of them");
  if (place == Place::cluster && !command.python.empty())
    return usage_error("--python: applies only to local runs, but this step trains in a cluster; omit it, or use --cluster local");
  if (place == Place::cluster && !command.run_dir.empty())
    return usage_error("--run-dir: applies only to local runs, but this step trains in a cluster; omit it, or use --cluster local");
  return {};
}

}  // namespace

Result<std::unique_ptr<Recorder>> recorder_for(const StepCommand& command, const step::Inputs& inputs) {
  if (command.record.empty()) return std::unique_ptr<Recorder>();
  return Recorder::open(command.record, inputs.secrets);
}

int fail(const StepCommand& command, const Error& error) {
  write_termination_log(command.termination_log, concealed(error.message));
  return report(error);
}

int run_run(const StepCommand& given) {
  auto command = given;
  command.termination_log = find_termination_log();
  auto inputs = read_inputs(command);
  if (!inputs) return fail(command, inputs.error());
  const auto place = place_of(command, *inputs);
  if (!place) return fail(command, place.error());
  if (auto checked = check_flags(command, *place); !checked) return fail(command, checked.error());
  // Errors that can be found without a server are reported at once.
  const auto plan = plan::make_plan(inputs->request, job_types::traits());
  if (!plan) return fail(command, plan.error());
  conceal_all(*inputs, *plan);
  command.log_options.secrets = inputs->secrets;
  return *place == Place::here ? run_locally(command, *inputs, *plan) : run_in_cluster(command, *inputs, *plan);
}

}  // namespace trainstep::cli
