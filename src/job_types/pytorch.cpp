// PyTorchJob (docs/design/operators.md, PyTorchJob): Master 1 + Worker N-1, all of them ranks; elastic: Worker N.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "job_types/agent.h"
#include "job_types/launch.h"
#include "job_types/object.h"
#include "job_types/table.h"
#include "job_types/templates.h"
#include "job_types/training_operator.h"

namespace trainstep::job_types::pytorch {
namespace {

std::vector<Replicas> replicas(const plan::Plan& plan) {
  const int nodes = plan.distribution.workers;
  // For an elastic job the operator accepts any worker's success; we wait for worker-0, whose outputs are collected.
  if (plan.distribution.elastic) return {{.type = "Worker", .count = nodes, .resources = plan.worker, .primary = true, .awaited = 1}};
  std::vector<Replicas> result{{.type = "Master", .resources = plan.worker, .primary = true, .awaited = 1, .only = true}};
  if (nodes > 1) result.push_back({.type = "Worker", .count = nodes - 1, .resources = plan.worker});
  return result;
}

Manifest elastic_policy(const plan::Elastic& elastic) {
  Manifest policy;
  policy.set("/minReplicas", elastic.min, "distribution_specification.elastic.min");
  policy.set("/maxReplicas", elastic.max, "distribution_specification.elastic.max");
  if (elastic.max_restarts) policy.set("/maxRestarts", *elastic.max_restarts, "distribution_specification.elastic.max_restarts");
  policy.set("/rdzvBackend", "c10d", "default: requires no separate server");
  return policy;
}

std::string processes_source(const plan::Plan& plan) {
  if (plan.distribution.processes_per_worker) return "distribution_specification.processes_per_worker";
  return plan.worker.gpus.value > 0 ? plan.worker.gpus.source + ": one process for each GPU"
                                    : "default: the operator's \"auto\" would be a process for each CPU";
}

Result<Manifest> render(const plan::Plan& plan, const Resource& resource) {
  ASSIGN(const auto restart_policy, v1_restart_policy(plan));
  auto object = job_object(plan, resource);
  object.merge("/spec/runPolicy", v1_run_policy(plan));
  object.set("/spec/nprocPerNode", std::to_string(plan.processes_per_worker), processes_source(plan));
  if (plan.distribution.elastic) object.merge("/spec/elasticPolicy", elastic_policy(*plan.distribution.elastic));
  for (const auto& replica : replicas(plan)) {
    const auto placement = plan::pod_placement(plan, replica.primary);
    ASSIGN(auto program, program_arguments(plan, placement));
    const PodShape shape{.type = replica.type,
                         .container = {"pytorch", "required by PyTorchJob"},
                         .command = with_agent(plan, role_of(replica), torchrun_arguments(plan, std::move(program))),
                         .resources = replica.resources,
                         .environment = environment_of(plan, replica.type, placement)};
    object.merge("/spec/pytorchReplicaSpecs/" + replica.type, replica_spec(plan, replica, restart_policy, shape));
  }
  return object;
}

std::string pods(const std::string& job_name, const Resource& /*resource*/, const std::string& type, int index) {
  return v1_pods("pytorchjob-controller", job_name, type, index);
}

Variables environment(const plan::Plan& plan, const AddressBook& addresses, const std::string& type, int index) {
  const auto& elastic = plan.distribution.elastic;
  const int nodes = plan.distribution.workers;
  Variables result{{"PYTHONUNBUFFERED", "1"}};
  if (!elastic) {
    const auto master = addresses("Master", 0);
    const auto rank = std::to_string(type == "Worker" ? index + 1 : index);
    for (const auto* name : {"MASTER_PORT", "PET_MASTER_PORT"}) result.emplace_back(name, std::to_string(master.port));
    for (const auto* name : {"MASTER_ADDR", "PET_MASTER_ADDR"}) result.emplace_back(name, master.host);
    result.emplace_back("WORLD_SIZE", std::to_string(nodes * plan.processes_per_worker));
    for (const auto* name : {"RANK", "PET_NODE_RANK"}) result.emplace_back(name, rank);
  }
  result.emplace_back("PET_NPROC_PER_NODE", std::to_string(plan.processes_per_worker));
  if (!elastic) {
    result.emplace_back("PET_NNODES", std::to_string(nodes));
    return result;
  }
  const auto meeting_point = addresses("Worker", 0);
  result.emplace_back("PET_RDZV_ENDPOINT", fmt::format("{}:{}", meeting_point.host, meeting_point.port));
  result.emplace_back("PET_RDZV_BACKEND", "c10d");
  result.emplace_back("PET_NNODES", fmt::format("{}:{}", elastic->min, elastic->max));
  if (elastic->max_restarts) result.emplace_back("PET_MAX_RESTARTS", std::to_string(*elastic->max_restarts));
  return result;
}

// Workers wait for the Master's DNS name, if there is a Master (docs/design/operators.md, PyTorchJob).
std::optional<InjectedContainer> injected(const plan::Plan& plan, const Resource& /*resource*/, const std::string& type) {
  if (plan.distribution.elastic || type != "Worker") return std::nullopt;
  const auto sizes = [](const char* cpu, const char* memory) { return Json{{"cpu", cpu}, {"memory", memory}}; };
  return InjectedContainer{{{"name", "init-pytorch"},
                            {"image", "alpine:3.10"},
                            {"command", {"sh", "-c", fmt::format("nslookup {}-master-0", plan.job_name)}},
                            {"resources", {{"limits", sizes("100m", "20Mi")}, {"requests", sizes("50m", "10Mi")}}}},
                           "the training-operator reads another one from the file given with --pytorch-init-container-template-file "
                           "(/etc/config/initContainer.yaml); docs/data.md has a suitable one"};
}

void read_distribution(const Json& object, plan::Distribution& distribution) {
  const int masters = replica_count(object, "Master");
  distribution.workers = replica_count(object, "Worker");
  if (masters == 0) distribution.elastic = plan::Elastic{distribution.workers, distribution.workers, std::nullopt};
  distribution.workers += masters;
}

// Each process is a rank, unless the program or torchrun starts the ranks.
int local_processes(const plan::Plan& plan) {
  return plan.distribution.elastic || plan::starts_own_ranks(plan.program) ? 1 : plan.processes_per_worker;
}

Arguments local_arguments(const plan::Plan& plan, Arguments program) {
  return plan.distribution.elastic ? torchrun_arguments(plan, std::move(program)) : program;
}

// torchrun of torch 1.13 with Python 3.11 fails on its defaults, "0": iterating over the enum skips the member with value 0 (Std.from_str in
// torch/distributed/elastic/multiprocessing/api.py). These values have the same effect: only the output of rank 9 is redirected.
Variables local_environment() { return {{"GLOO_SOCKET_IFNAME", "lo"}, {"PET_REDIRECTS", "9:1"}, {"PET_TEE", "9:1"}}; }

}  // namespace

JobType type() {
  return {.traits = {.name = "PyTorch", .keys = {"processes_per_worker", "elastic"}, .process_per_gpu = true},
          .replica_types = {"Master", "Worker"},
          .resources = {v1_resource("PyTorchJob", "pytorchjobs")},
          .replicas = replicas,
          .render = render,
          .judge = judge_v1,
          .pods = pods,
          .environment = environment,
          .read_distribution = read_distribution,
          .injected = injected,
          .operator_objects = services,
          .container = "pytorch",
          .local_environment = local_environment(),
          .local_processes = local_processes,
          .local_arguments = local_arguments};
}

}  // namespace trainstep::job_types::pytorch
