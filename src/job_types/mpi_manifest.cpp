// SPDX-License-Identifier: Apache-2.0
#include "job_types/mpi_manifest.h"

#include <fmt/format.h>

#include "job_types/agent.h"
#include "job_types/launch.h"
#include "job_types/object.h"
#include "job_types/training_operator.h"

namespace trainstep::job_types {
namespace {

constexpr auto operators_hostfile = "/etc/mpi/hostfile";
constexpr auto own_hostfile = "/tmp/hostfile";

// How long a launcher waits for its workers. They may have to wait for free resources, which should be limited by the step's own limits.
constexpr std::int64_t max_wait = 24 * 3600;

bool is_open_mpi(const plan::Plan& plan) { return plan.distribution.mpi_implementation == "OpenMPI"; }

// Wraps the launcher's command line in a script that first waits until every host in the operator's hostfile ("host slots=2", "host:2") responds.
Arguments waiting(const std::string& probe, const std::string& then, const std::string& why, Arguments words) {
  const auto script = fmt::format(R"sh(end=$(($(date +%s) + {}))
while read -r host slots; do
  host=${{host%%:*}}
  until {} </dev/null >/dev/null 2>&1; do
    if [ "$(date +%s)" -ge "$end" ]; then
      echo "worker $host does not answer" >&2
      exit 1
    fi
    sleep 1
  done
done <{}
{}exec "$@")sh",
                                  max_wait, probe, operators_hostfile, then);
  Arguments result{{"sh", why}, {"-c", why}, {script, why}, {"launcher", why}};
  result.insert(result.end(), words.begin(), words.end());
  return result;
}

// Variables that ssh does not pass to the ranks. A field reference would have the value of the launcher's pod, which is wrong there.
std::vector<std::string> forwarded(const plan::Plan& plan) {
  std::vector<std::string> names{"PATH", "LD_LIBRARY_PATH"};
  for (const auto& variable : environment_of(plan, "Worker", plan::pod_placement(plan, true)))
    if (!variable.value.contains("field")) names.push_back(variable.name);
  if (plan.data.has_agent()) names.emplace_back(plan::task_variable);
  return names;
}

PodShape launcher_shape(const plan::Plan& plan, const Replicas& launcher, Arguments command) {
  // Includes the workers' variables, because mpirun passes on its own environment.
  return {.type = "Launcher",
          .container = {"mpi", "default"},
          .command = std::move(command),
          .resources = launcher.resources,
          .environment = overlaid(environment_of(plan, "Worker", plan::pod_placement(plan, true)), plan, "Launcher"),
          .ranks = false};
}

// Empty `command`: the operator's default: sshd, or sleep for kubectl exec.
PodShape worker_shape(const plan::Plan& plan, const Replicas& worker, Arguments command = {}) {
  return {.type = "Worker",
          .container = {"mpi", "default"},
          .command = std::move(command),
          .resources = worker.resources,
          .environment = environment_of(plan, "Worker", plan::pod_placement(plan, true))};
}

void set_slots(const plan::Plan& plan, Manifest& object) {
  object.set("/spec/slotsPerWorker", plan.slots_per_worker,
             plan.distribution.slots_per_worker ? "distribution_specification.slots_per_worker" : "default: processes_per_worker");
}

// Ready means that sshd listens, on any port configured by the image: a socket in the state LISTEN (0A) that is held by a process of this container.
// In the host network there are other listening processes, including the node's sshd. Contains neither `$(` nor `$$`, which Kubernetes would expand.
void add_readiness(Manifest& object) {
  constexpr auto probe =
      R"sh(ls -l /proc/[0-9]*/fd 2>/dev/null | sed -n 's/.*socket:\[\([0-9]*\)\].*/\1/p' | { while read -r inode; do
  grep -Eqs " 0A ([^ ]+ +){5}$inode " /proc/net/tcp /proc/net/tcp6 && exit 0
done
exit 1; })sh";
  object.set("/spec/mpiReplicaSpecs/Worker/template/spec/containers/0/readinessProbe",
             {{"exec", {{"command", {"sh", "-c", probe}}}}, {"periodSeconds", 1}}, "default: the launcher waits until sshd listens");
}

// The source of the setting if the pods of this type are known not to run as root; otherwise empty.
std::string other_user(const plan::Plan& plan, const std::string& type) {
  const auto options = plan::options_for(plan.options, type);
  const std::pair<const Json*, const char*> contexts[] = {{&options.security_context, "security_context"},
                                                          {&options.pod_security_context, "pod_security_context"}};
  for (const auto& [context, key] : contexts) {
    if (!context->is_object()) continue;
    if (const auto* user = trainstep::find(*context, "runAsUser"); user != nullptr && !user->is_null())
      return *user == Json(0) ? "" : fmt::format("job_options.{}.runAsUser", key);
  }
  for (const auto& [context, key] : contexts)
    if (context->is_object() && context->value("runAsNonRoot", Json()) == Json(true)) return fmt::format("job_options.{}.runAsNonRoot", key);
  return "";
}

// Where the operator mounts the keys: sshd and ssh look in the home directory of their user. Images for a user other than root are modeled on
// mpi-operator's own (build/base/Dockerfile): user mpiuser, with its own sshd_config in its home, because the system's requires root.
struct SshPlace {
  plan::Sourced<std::string> keys;
  Arguments sshd;  // empty: the operator's default, for root
};
SshPlace ssh_place(const plan::Plan& plan) {
  SshPlace place;
  auto why = other_user(plan, "Worker");
  if (why.empty()) why = other_user(plan, "Launcher");
  const auto& given = plan.distribution.ssh_auth_mount_path;
  if (!given.empty())
    place.keys = {given, "distribution_specification.ssh_auth_mount_path"};
  else if (why.empty())
    place.keys = {"/root/.ssh", "default"};
  else
    place.keys = {"/home/mpiuser/.ssh", why + ": the user of mpi-operator's images"};
  if (why.empty()) return place;
  const auto home = place.keys.value.substr(0, place.keys.value.rfind('/'));
  const auto script = fmt::format("if [ -r {0}/.sshd_config ]; then exec /usr/sbin/sshd -De -f {0}/.sshd_config; fi\nexec /usr/sbin/sshd -De", home);
  for (const auto& word : {std::string("sh"), std::string("-c"), script}) place.sshd.push_back({word, why + ": sshd does not run as root"});
  return place;
}

Result<void> check_v2beta1(const plan::Plan& plan) {
  const auto& policy = plan.options.run_policy.restart_policy;
  if (policy == "Never" || policy == "OnFailure") return {};
  return input_error(fmt::format("job_options.run_policy.restart_policy: mpi-operator does not support {}; use Never or OnFailure", policy));
}

Result<void> check_v1(const plan::Plan& plan) {
  if (plan.options.run_policy.restart_policy == "ExitCode")
    return input_error("job_options.run_policy.restart_policy: ExitCode has no effect in an MPIJob (kubeflow.org/v1); use OnFailure");
  if (!plan.options.queue.empty())
    return input_error(
        "job_options.queue: Kueue does not manage MPIJobs of kubeflow.org/v1, so the job would not be queued; use mpi-operator "
        "(kubeflow.org/v2beta1)");
  if (plan.distribution.mpi_implementation == "MPICH")
    return input_error(
        "distribution_specification.mpi_implementation: MPICH requires mpi-operator (kubeflow.org/v2beta1); this cluster supports OpenMPI and Intel");
  return {};
}

}  // namespace

Result<Manifest> render_mpi_v2beta1(const plan::Plan& plan, const Resource& resource, const Replicas& launcher, const Replicas& worker) {
  TRY(check_v2beta1(plan));
  ASSIGN(auto program, program_arguments(plan, plan::pod_placement(plan, true)));
  auto command = mpirun_arguments(plan, {operators_hostfile, forwarded(plan)}, with_agent(plan, "rank", std::move(program)));
  command = with_agent(plan, "launcher", std::move(command));
  const auto& options = plan.options;
  // If a job is created suspended, the operator creates the launcher at once, and starts it without waiting (docs/design/operators.md, Suspension).
  if (!options.queue.empty() || options.run_policy.suspend)
    command = waiting(R"(ssh -o BatchMode=yes -o ConnectTimeout=5 "$host" true)", "",
                      "default: after a suspension the operator does not wait for the workers", std::move(command));
  auto object = job_object(plan, resource);
  object.merge("/spec/runPolicy", run_policy(plan));
  object.set("/spec/runPolicy/backoffLimit", options.run_policy.backoff_limit,
             options.run_policy.backoff_limit > 0 ? "job_options.run_policy" : "default: a failed launcher is not retried");
  set_slots(plan, object);
  object.set("/spec/mpiImplementation", plan.distribution.mpi_implementation,
             is_open_mpi(plan) ? "default" : "distribution_specification.mpi_implementation");
  object.set("/spec/launcherCreationPolicy", "WaitForWorkersReady", "default: mpirun needs all workers");
  const auto ssh = ssh_place(plan);
  object.set("/spec/sshAuthMountPath", ssh.keys.value, ssh.keys.source);
  // A launcher restarted in place would lose its log at the backoff limit (docs/design/operators.md, Restarts): retries are new pods.
  object.merge("/spec/mpiReplicaSpecs/Launcher", replica_spec(plan, launcher, "Never", launcher_shape(plan, launcher, std::move(command))));
  object.set("/spec/mpiReplicaSpecs/Launcher/restartPolicy", "Never", "default: retries use new pods, so that the log of the failed one is kept");
  object.merge("/spec/mpiReplicaSpecs/Worker", replica_spec(plan, worker, options.run_policy.restart_policy, worker_shape(plan, worker, ssh.sshd)));
  add_readiness(object);
  return object;
}

Result<Manifest> render_mpi_v1(const plan::Plan& plan, const Resource& resource, const Replicas& launcher, const Replicas& worker) {
  TRY(check_v1(plan));
  ASSIGN(const auto restart_policy, v1_restart_policy(plan));
  ASSIGN(auto program, program_arguments(plan, plan::pod_placement(plan, true)));
  // kubectl exec starts the ranks in the workers' containers, with their environment. The operator writes the hostfile only in Open MPI's format.
  const bool own_form = is_open_mpi(plan);
  const auto convert = own_form ? std::string() : fmt::format("sed 's/ slots=/:/' {} >{}\n", operators_hostfile, own_hostfile);
  auto command =
      waiting(R"(/etc/mpi/kubexec.sh "$host" true)", convert, "default: the operator starts the launcher together with the workers",
              with_agent(plan, "launcher",
                         mpirun_arguments(plan, {own_form ? operators_hostfile : own_hostfile, {}}, with_agent(plan, "rank", std::move(program)))));
  auto object = job_object(plan, resource);
  object.merge("/spec/runPolicy", v1_run_policy(plan));
  set_slots(plan, object);
  object.merge("/spec/mpiReplicaSpecs/Launcher", replica_spec(plan, launcher, restart_policy, launcher_shape(plan, launcher, std::move(command))));
  object.merge("/spec/mpiReplicaSpecs/Worker", replica_spec(plan, worker, restart_policy, worker_shape(plan, worker)));
  return object;
}

}  // namespace trainstep::job_types
