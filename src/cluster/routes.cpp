// SPDX-License-Identifier: Apache-2.0
#include "cluster/routes.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"

namespace trainstep::cluster {

Result<void> check_routes(const plan::Plan& plan) {
  for (const auto& input : plan.binding.inputs)
    if (input.path)
      return input_error(fmt::format(
          "train_parameters: {}: {} is a path of this step, and files of the step are not carried into the pods of a cluster; let the program "
          "read a volume (job_options.volumes) or an address that it gets as text",
          input.name, input.path->name));
  for (const auto& output : plan.binding.outputs)
    if (output.path)
      return input_error(fmt::format(
          "train_parameters: {}: {} is a path of this step, and files of the pods are not carried back from a cluster; let the program write "
          "to a volume (job_options.volumes) or an address that it gets as text",
          output.name, output.path->name));
  return {};
}

std::string unfetched_outputs(const plan::Plan& plan) {
  std::vector<std::string> names;
  names.reserve(plan.binding.outputs.size());
  for (const auto& output : plan.binding.outputs) names.push_back(output.name);
  if (names.empty()) return {};
  return fmt::format("outputs that stay in the primary replica's pod: {}", join(names, ", "));
}

}  // namespace trainstep::cluster
