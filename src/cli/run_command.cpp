// SPDX-License-Identifier: Apache-2.0
#include "cli/run_command.h"

#include <fmt/format.h>

#include <cstdlib>

#include "cli/app.h"

namespace trainstep::cli {
namespace {

enum class Place { here, cluster };

// A pod or a pipeline never gets local processes by itself: the user would believe that the cluster trains.
Result<Place> place_of(const StepCommand& command, const step::Inputs& inputs) {
  if (command.cluster == "local") return Place::here;
  if (command.cluster == "kubernetes") return Place::cluster;
  if (!command.cluster.empty())
    return usage_error(fmt::format("--cluster: \"{}\" is not known; write local (processes of this machine) or kubernetes", command.cluster));
  const bool pod = std::getenv("KUBERNETES_SERVICE_HOST") != nullptr;
  return pod || inputs.from_executor_input || !command.context.empty() ? Place::cluster : Place::here;
}

}  // namespace

Result<std::unique_ptr<Recorder>> recorder_for(const StepCommand& command) {
  if (command.record.empty()) return std::unique_ptr<Recorder>();
  return Recorder::open(command.record);
}

int run_run(const StepCommand& command) {
  const auto inputs = read_inputs(command);
  if (!inputs) return report(inputs.error());
  const auto place = place_of(command, *inputs);
  if (!place) return report(place.error());
  return *place == Place::here ? run_locally(command, *inputs) : run_in_cluster(command, *inputs);
}

}  // namespace trainstep::cli
