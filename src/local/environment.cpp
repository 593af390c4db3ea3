// SPDX-License-Identifier: Apache-2.0
#include "local/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "job_types/object.h"
#include "job_types/pod_template.h"
#include "plan/step_variables.h"

namespace trainstep::local {
namespace {

using process::find_variable;
using process::set_variable;
using process::Variables;

void set_default(Variables& variables, std::string_view name, const std::string& value) {
  if (find_variable(variables, name) == nullptr) variables.emplace_back(name, value);
}

int training_processes(const plan::Plan& plan) { return static_cast<int>(std::ranges::count_if(gang(plan), &GangMember::trains)); }

// As torchrun sets them for each process (torch.distributed.run): RANK counts processes, not pods.
void add_own_ranks(Variables& variables, const plan::Plan& plan, const GangMember& member) {
  const int processes = processes_per_replica(plan);
  if (processes == 1) return;
  const auto* node = find_variable(variables, "RANK");
  const int rank = (node == nullptr ? 0 : std::stoi(*node)) * processes + member.local_rank;
  set_variable(variables, "RANK", std::to_string(rank));
  set_variable(variables, "LOCAL_RANK", std::to_string(member.local_rank));
  set_variable(variables, "LOCAL_WORLD_SIZE", std::to_string(processes));
}

void add_path(Variables& variables, const HostEnvironment& host) {
  const auto* path = find_variable(variables, "PATH");
  auto folders = host.tools.string();
  if (!host.interpreter.empty()) folders += ":" + host.interpreter.string();
  set_variable(variables, "PATH", fmt::format("{}:{}", folders, path != nullptr ? *path : "/usr/local/bin:/usr/bin:/bin"));
}

}  // namespace

Variables plan_variables(const plan::Plan& plan, const std::string& type, const plan::Placement& placement) {
  Variables variables;
  for (const auto& variable : job_types::environment_of(plan, type, placement)) {
    const bool replaced = variable.source == plan::passed_on_source && variable.name == "TMPDIR";
    if (!variable.value.is_object() && !replaced) variables.emplace_back(variable.name, job_types::scalar_text(variable.value));
  }
  return variables;
}

Variables member_environment(const plan::Plan& plan, const GangMember& member, const plan::Placement& placement,
                             const job_types::AddressBook& addresses, const std::string& devices, const HostEnvironment& host) {
  Variables variables;
  for (const auto& variable : host.own)
    if (!plan::belongs_to_step(variable.first)) variables.push_back(variable);
  for (const auto& [name, value] : plan_variables(plan, member.type, placement)) set_variable(variables, name, value);
  const auto& job_type = job_types::find(plan.job_type);
  for (auto& [name, value] : job_type.environment(plan, addresses, member.type, member.index)) set_variable(variables, name, value);
  add_own_ranks(variables, plan, member);
  for (const auto& [name, value] : job_type.local_environment) set_default(variables, name, value);
  set_default(variables, "PYTHONUNBUFFERED", "1");
  if (const int processes = training_processes(plan); processes > 1)
    set_default(variables, "OMP_NUM_THREADS", std::to_string(std::max(1, host.cores / processes)));
  set_variable(variables, "CUDA_VISIBLE_DEVICES", devices);
  set_variable(variables, "TRAINSTEP_RUN_ID", plan.run_id);
  add_path(variables, host);
  return variables;
}

std::vector<std::string> environment_warnings(const plan::Plan& plan, const Variables& own) {
  std::vector<std::string> warnings;
  std::set<std::string> told;
  for (const auto& member : gang(plan))
    for (const auto& variable : job_types::environment_of(plan, member.type, {})) {
      if (!variable.value.is_object() || !told.insert(variable.name).second) continue;
      const bool here = find_variable(own, variable.name) != nullptr;
      warnings.push_back(fmt::format("{}: {} exists only in a cluster; {}", variable.name, to_text(variable.value),
                                     here ? "using the value of this environment" : "the variable is not set"));
    }
  return warnings;
}

}  // namespace trainstep::local
