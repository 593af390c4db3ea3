// SPDX-License-Identifier: Apache-2.0
#include "follow/rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainstep::follow {

bool rank_inside(const Rules& rules) {
  return std::ranges::any_of(rules.members, [](const Member& member) { return member.primary && !member.started; });
}

void take_options(Rules& rules, const plan::JobOptions& options) {
  rules.policy = options.run_policy;
  rules.limits = options.limits;
  rules.metrics = options.metrics;
  auto& running = rules.limits.running;
  if (const auto& deadline = rules.policy.active_deadline; deadline && (!running || *deadline < *running)) running = deadline;
}

std::string limit_option(const Rules& rules, std::string_view phase) {
  const bool deadline = phase == "running" && rules.policy.active_deadline && rules.limits.running == rules.policy.active_deadline;
  return deadline ? "job_options.run_policy.active_deadline" : fmt::format("job_options.limits.{}", phase);
}

}  // namespace trainstep::follow
