// MPIJob (docs/design/operators.md, MPIJob on mpi-operator): Launcher 1, which only runs mpirun, and Worker N, where the ranks are.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "job_types/conditions.h"
#include "job_types/mpi_manifest.h"
#include "job_types/table.h"
#include "job_types/templates.h"
#include "job_types/training_operator.h"

namespace trainstep::job_types::mpi {
namespace {

std::vector<Replicas> replicas(const plan::Plan& plan) {
  auto launcher = plan.launcher;
  launcher.gpus = {0, "default: a launcher has no GPU"};
  return {
      {.type = "Launcher", .resources = launcher, .primary = true, .awaited = 1, .only = true, .numbered = false, .trains = false, .launches = true},
      {.type = "Worker", .count = plan.distribution.workers, .resources = plan.worker}};
}

Result<Manifest> render(const plan::Plan& plan, const Resource& resource) {
  const auto both = replicas(plan);
  const auto render_it = resource.group_version == mpi_v1 ? render_mpi_v1 : render_mpi_v2beta1;
  return render_it(plan, resource, both[0], both[1]);
}

// mpi-operator writes Failed (MPIJobEvicted) for a lost worker although the launcher may still succeed: the job has ended only if completionTime is
// set (docs/design/operators.md, The end).
Judgement judge_v2beta1(const Json& object) {
  using enum Judgement::State;
  const auto* status = status_of(object);
  const bool over = status != nullptr && trainstep::find(*status, "completionTime") != nullptr;
  const auto* success = true_condition(object, "Succeeded");
  const auto* failure = true_condition(object, "Failed");
  if (const auto end = over ? judge_end(object, success, failure) : std::nullopt) return *end;
  if (success != nullptr) return judged(running, *success);
  if (failure != nullptr) return judged(restarting, *failure);
  return judge_unfinished(object);
}

Judgement judge(const Json& object) {
  const auto* version = object.is_object() ? trainstep::find(object, "apiVersion") : nullptr;
  return version != nullptr && *version == mpi_v1 ? judge_v1(object) : judge_v2beta1(object);
}

// mpi-operator has roles instead of types; both operators number only the workers; a retried launcher has several pods.
std::string pods(const std::string& job_name, const Resource& resource, const std::string& type, int index) {
  const int number = type == "Launcher" ? -1 : index;
  if (resource.group_version == mpi_v1) return v1_pods("mpijob-controller", job_name, type, number);
  auto selector = fmt::format("training.kubeflow.org/operator-name=mpi-operator,training.kubeflow.org/job-name={}", job_name);
  if (!type.empty()) selector += ",training.kubeflow.org/job-role=" + lower(type);
  if (!type.empty() && number >= 0) selector += fmt::format(",training.kubeflow.org/replica-index={}", number);
  return selector;
}

// The variables of mpi-operator.
Variables environment(const plan::Plan& plan, const AddressBook& /*addresses*/, const std::string& type, int /*index*/) {
  if (type == "Worker") return {{"K_MPI_JOB_ROLE", "worker"}};
  constexpr auto hostfile = "/etc/mpi/hostfile";
  constexpr auto ssh_options = "-o ConnectionAttempts=10";
  const auto slots = std::to_string(plan.slots_per_worker);
  Variables result{{"K_MPI_JOB_ROLE", "launcher"}};
  const auto& implementation = plan.distribution.mpi_implementation;
  if (implementation == "Intel")
    result.insert(result.end(),
                  {{"I_MPI_HYDRA_HOST_FILE", hostfile}, {"I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", ssh_options}, {"I_MPI_PERHOST", slots}});
  else if (implementation == "MPICH")
    result.insert(result.end(), {{"HYDRA_HOST_FILE", hostfile}, {"HYDRA_LAUNCH_EXTRA_ARGS", ssh_options}});
  else
    result.insert(result.end(), {{"OMPI_MCA_orte_keep_fqdn_hostnames", "true"},
                                 {"OMPI_MCA_orte_default_hostfile", hostfile},
                                 {"OMPI_MCA_plm_rsh_args", ssh_options},
                                 {"OMPI_MCA_orte_set_default_slots", slots}});
  result.insert(result.end(), {{"NVIDIA_VISIBLE_DEVICES", ""}, {"NVIDIA_DRIVER_CAPABILITIES", ""}});
  return result;
}

// The training-operator's launcher does not use sshd: an init container delivers kubectl to it (docs/design/operators.md, MPIJob on the training
// operator).
std::optional<InjectedContainer> injected(const plan::Plan& plan, const Resource& resource, const std::string& type) {
  if (resource.group_version != mpi_v1 || type != "Launcher") return std::nullopt;
  const Json sizes = {{"cpu", "100m"}, {"memory", "512Mi"}, {"ephemeral-storage", "5Gi"}};
  const Json variables = Json::array({{{"name", "TARGET_DIR"}, {"value", "/opt/kube"}}, {{"name", "NAMESPACE"}, {"value", plan.name_space}}});
  return InjectedContainer{{{"name", "kubectl-delivery"},
                            {"image", "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest"},
                            {"env", variables},
                            {"resources", {{"limits", sizes}, {"requests", sizes}}}},
                           "the training-operator has no setting for it; mpi-operator (MPIJob of kubeflow.org/v2beta1) adds no container"};
}

// The keys of ssh, the hostfile, the Service by which the workers are found; or what lets the launcher start processes in the workers by kubectl.
std::vector<std::pair<std::string_view, int>> operator_objects(const plan::Plan& /*plan*/, const Resource& resource) {
  if (resource.has_launcher_job) return {{"configmaps", 1}, {"jobs.batch", 1}, {"secrets", 1}, {"services", 1}};
  return {{"configmaps", 1}, {"rolebindings.rbac.authorization.k8s.io", 1}, {"roles.rbac.authorization.k8s.io", 1}, {"serviceaccounts", 1}};
}

void read_distribution(const Json& object, plan::Distribution& distribution) { distribution.workers = replica_count(object, "Worker"); }

}  // namespace

JobType type() {
  Resource v2beta1{.group_version = mpi_v2beta1, .kind = "MPIJob", .plural = "mpijobs", .run_policy = "runPolicy", .has_launcher_job = true};
  return {.traits = {.name = "MPI",
                     .keys = {"launcher_cpus", "launcher_memory", "slots_per_worker", "mpi_implementation", "mpirun_arguments", "ssh_auth_mount_path",
                              "processes_per_worker"},
                     .process_per_gpu = true,
                     .launches_ranks = true},
          .replica_types = {"Launcher", "Worker"},
          .resources = {v2beta1, v1_resource("MPIJob", "mpijobs")},
          .replicas = replicas,
          .render = render,
          .judge = judge,
          .pods = pods,
          .environment = environment,
          .read_distribution = read_distribution,
          .injected = injected,
          .operator_objects = operator_objects,
          .container = "mpi",
          .refusals = {"ValidationError", "MPIJobFailedValidation"}};
}

}  // namespace trainstep::job_types::mpi
