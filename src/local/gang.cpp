// SPDX-License-Identifier: Apache-2.0
#include "local/gang.h"

#include <fmt/format.h>

#include <algorithm>

#include "job_types/job_type.h"

namespace trainstep::local {
namespace {

std::string member_name(const job_types::Replicas& replicas, int index, int local_rank, int processes) {
  auto name = job_types::replica_name(replicas, index);
  return processes > 1 ? fmt::format("{}.{}", name, local_rank) : name;
}

void add_replicas(std::vector<GangMember>& members, const job_types::Replicas& replicas, int processes) {
  for (int index = 0; index < replicas.count; ++index)
    for (int rank = 0; rank < processes; ++rank)
      members.push_back({.name = member_name(replicas, index, rank, processes),
                         .type = replicas.type,
                         .index = index,
                         .local_rank = rank,
                         .primary = replicas.primary && index == 0 && rank == 0,
                         .beside = replicas.primary && index == 0,
                         .awaited = index < replicas.awaited,
                         .serves = replicas.serves,
                         .trains = replicas.trains});
}

// mpirun starts the ranks; the training's log and outputs are those of rank 0, not of mpirun.
void add_launched(std::vector<GangMember>& members, const plan::Plan& plan) {
  const bool wrapped = ranks_are_launched(plan);
  for (auto replicas : job_types::find(plan.job_type).replicas(plan)) {
    if (replicas.launches) {
      replicas.primary = !wrapped;
      add_replicas(members, replicas, 1);
    } else if (wrapped) {
      replicas.primary = true;
      add_replicas(members, replicas, plan.processes_per_worker);
      for (auto& member : members) member.output_only = member.trains;
    }
  }
}

}  // namespace

int processes_per_replica(const plan::Plan& plan) {
  const auto processes = job_types::find(plan.job_type).local_processes;
  return processes == nullptr ? 1 : processes(plan);
}

bool ranks_are_launched(const plan::Plan& plan) {
  return job_types::find(plan.job_type).traits.launches_ranks && !plan::starts_own_ranks(plan.program);
}

std::vector<GangMember> gang(const plan::Plan& plan) {
  std::vector<GangMember> members;
  if (job_types::find(plan.job_type).traits.launches_ranks)
    add_launched(members, plan);
  else
    for (const auto& replicas : job_types::find(plan.job_type).replicas(plan)) add_replicas(members, replicas, processes_per_replica(plan));
  auto& setup = members.emplace_back();
  setup.name = "setup";
  setup.output_only = true;
  return members;
}

OpenFiles open_files(const plan::Plan& plan) {
  constexpr std::size_t base = 24, while_starting = 6, per_process = 2, per_rank = 8;
  const auto members = gang(plan);
  const auto processes = members.size() - 1;  // without setup
  const auto least = base + while_starting + per_process * processes;
  const bool by_mpirun = std::ranges::any_of(members, [](const GangMember& member) { return member.output_only && !member.type.empty(); });
  return {least, by_mpirun ? least + per_rank * processes : least};
}

Result<void> check_gang(const plan::Plan& plan) {
  constexpr std::size_t max_processes = 512;
  const auto processes = gang(plan).size() - 1;  // without setup
  if (processes <= max_processes) return {};
  return input_error(
      fmt::format("distribution_specification.number_of_workers: {} processes are too many for one machine (at most {}); use fewer workers, or train "
                  "on a cluster",
                  processes, max_processes));
}

}  // namespace trainstep::local
