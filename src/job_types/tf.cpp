// TFJob (docs/design/operators.md, TFJob): with parameter servers Chief 1 + Worker N + PS, otherwise all-reduce among Worker N.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "job_types/agent.h"
#include "job_types/object.h"
#include "job_types/table.h"
#include "job_types/templates.h"
#include "job_types/training_operator.h"

namespace trainstep::job_types::tf {
namespace {

std::vector<Replicas> replicas(const plan::Plan& plan) {
  const int workers = plan.distribution.workers;
  const int servers = plan.distribution.parameter_servers.value_or(workers);
  // Without a chief all workers are awaited (successPolicy below), not only worker-0, which is the operator's default.
  if (servers == 0) return {{.type = "Worker", .count = workers, .resources = plan.worker, .primary = true, .awaited = workers}};
  return {{.type = "Chief", .resources = plan.chief, .primary = true, .awaited = 1, .only = true},
          {.type = "Worker", .count = workers, .resources = plan.worker, .serves = true},
          {.type = "PS",
           .count = servers,
           .resources = plan.parameter_server,
           .serves = true,
           .trains = false,
           .source = plan.distribution.parameter_servers ? "distribution_specification.number_of_parameter_servers" : ""}};
}

Result<Manifest> render(const plan::Plan& plan, const Resource& resource) {
  ASSIGN(const auto restart_policy, v1_restart_policy(plan));
  const auto all_replicas = replicas(plan);
  auto object = job_object(plan, resource);
  object.merge("/spec/runPolicy", v1_run_policy(plan));
  if (all_replicas.size() == 1) object.set("/spec/successPolicy", "AllWorkers", "default: in an all-reduce every worker must succeed");
  for (const auto& replica : all_replicas) {
    const auto placement = plan::pod_placement(plan, replica.primary);
    ASSIGN(auto program, program_arguments(plan, placement));
    const PodShape shape{.type = replica.type,
                         .container = {"tensorflow", "required by TFJob"},
                         .command = with_agent(plan, role_of(replica), std::move(program)),
                         .resources = replica.resources,
                         .environment = environment_of(plan, replica.type, placement)};
    object.merge("/spec/tfReplicaSpecs/" + replica.type, replica_spec(plan, replica, restart_policy, shape));
  }
  return object;
}

std::string pods(const std::string& job_name, const Resource& /*resource*/, const std::string& type, int index) {
  return v1_pods("tfjob-controller", job_name, type, index);
}

Variables environment(const plan::Plan& plan, const AddressBook& addresses, const std::string& type, int index) {
  int total = 0;
  std::map<std::string, Json> cluster;  // the operator writes the types sorted
  for (const auto& replica : replicas(plan)) {
    auto& hosts = cluster[lower(replica.type)] = Json::array();
    for (int i = 0; i < replica.count; ++i) {
      const auto address = addresses(replica.type, i);
      hosts.push_back(fmt::format("{}:{}", address.host, address.port));
    }
    total += replica.count;
  }
  if (total == 1) return {};
  const Json config = {{"cluster", cluster}, {"task", {{"type", lower(type)}, {"index", index}}}, {"environment", "cloud"}};
  return {{"TF_CONFIG", to_text(config)}};
}

void read_distribution(const Json& object, plan::Distribution& distribution) {
  distribution.workers = replica_count(object, "Worker");
  distribution.parameter_servers = replica_count(object, "Chief") == 0 ? 0 : replica_count(object, "PS");
}

}  // namespace

JobType type() {
  return {.traits = {.name = "TF",
                     .keys = {"number_of_parameter_servers", "parameter_server_cpus", "parameter_server_memory", "chief_cpus", "chief_memory"}},
          .replica_types = {"Chief", "Worker", "PS"},
          .resources = {v1_resource("TFJob", "tfjobs")},
          .replicas = replicas,
          .render = render,
          .judge = judge_v1,
          .pods = pods,
          .environment = environment,
          .read_distribution = read_distribution,
          .operator_objects = services,
          .container = "tensorflow"};
}

}  // namespace trainstep::job_types::tf
