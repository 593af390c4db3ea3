// SPDX-License-Identifier: Apache-2.0
#include "step/unused_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "job_types/job_type.h"

namespace trainstep::step {

std::vector<std::string> unused_inputs(const plan::Request& request, const plan::Plan& plan) {
  std::vector<std::string> notices;
  for (const auto& given : request.inputs) {
    const auto is_bound = [&](const plan::BoundInput& input) { return input.path && input.path->name == given.name; };
    if (std::ranges::any_of(plan.binding.inputs, is_bound)) continue;
    notices.push_back(
        fmt::format("{0}: not used, because no path parameter of the program has this name; to use it for another one, write {{\"INPUT\": \"{0}\"}} "
                    "into train_parameters",
                    given.name));
  }
  if (!plan.options.component.empty() && plan.program.dialect != spec::Dialect::v2)
    notices.push_back(fmt::format("job_options.component: not used, because {} has only one program; omit it",
                                  request.is_command ? "a command" : "train_specification"));
  for (const auto& name : job_types::logs_of_other_types(plan))
    notices.push_back(fmt::format("job_options.logs: this {} has no {}; it has {}", plan.job_type, name, job_types::replica_counts(plan)));
  return notices;
}

}  // namespace trainstep::step
