// SPDX-License-Identifier: Apache-2.0
#include "sim/training_operator.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace trainstep::sim {
namespace {

std::string_view replica_specs(std::string_view kind) {
  return kind == "PyTorchJob" ? "pytorchReplicaSpecs" : kind == "TFJob" ? "tfReplicaSpecs" : "mpiReplicaSpecs";
}

std::string operator_name(const std::string& kind) { return lower(kind) + "-controller"; }

std::string_view default_restart(std::string_view kind) { return kind == "PyTorchJob" ? "OnFailure" : "Never"; }

}  // namespace

void TrainingOperator::Look::set(const std::string& type, bool holds, const std::string& reason, const std::string& message, const std::string& now) {
  if (has_condition(status, "Failed")) return;  // once failed, nothing more is written
  set_operator_condition(status, type, holds, kind + reason, message, now);
}

void TrainingOperator::reconcile(const VersionPtr& job) {
  Look look{.job = job, .kind = job->resource->kind, .status = job->object.value("status", Json::object()), .tallies = {}};
  if (has_condition(look.status, "Succeeded") || has_condition(look.status, "Failed")) return finished(look);
  if (!look.status.contains("conditions")) look.set("Created", true, "Created", fmt::format("{} {} is created.", look.kind, job->name()), now());
  if (look.policy().value("suspend", false)) {
    suspend(look);
    return write_status(job, std::move(look.status));
  }
  if (has_condition(look.status, "Suspended")) {
    look.set("Suspended", false, "Resumed", fmt::format("{} {} is resumed.", look.kind, job->name()), now());
    look.status["startTime"] = now();
  }
  if (out_of_bounds(look)) return write_status(job, std::move(look.status));
  look_at_replicas(look);
  if (!look.status.contains("startTime")) look.status["startTime"] = now();
  if (look.restarting)
    look.set("Restarting", true, "Restarting", fmt::format("{} {} is restarting because some replicas failed.", look.kind, job->name()), now());
  judge(look);
  write_status(job, std::move(look.status));
}

void TrainingOperator::finished(const Look& look) {
  auto clean = std::string(text_at(look.policy(), {"cleanPodPolicy"}));
  if (clean.empty()) clean = text_at(look.job->object, {"spec", "cleanPodPolicy"});
  for (const auto& pod : pods_of(look.job)) {
    const auto phase = phase_of(*pod);
    const bool runs = phase == "Running" || phase == "Pending";
    if (!pod->deleting() && !clean.empty() && clean != "None" && (clean != "Running" || runs)) delete_pod(pod);
  }
  // Without a completionTime the job never expires.
  const auto ttl = number_at(look.policy(), {"ttlSecondsAfterFinished"}, -1);
  const auto ended = seconds_of(text_at(look.status, {"completionTime"}));
  if (ttl < 0 || ended == 0) return;
  const auto due = Time{std::chrono::seconds(ended + ttl)};
  if (clock() >= due)
    m_collector.remove(look.job, Propagation::background);
  else
    wake(std::string(look.job->uid()), due - clock());
}

void TrainingOperator::suspend(Look& look) {
  for (const auto& pod : pods_of(look.job))
    if (!pod->deleting()) delete_pod(pod);
  look.set("Running", false, "Suspended", fmt::format("{} {} is suspended.", look.kind, look.job->name()), now());
  look.set("Suspended", true, "Suspended", fmt::format("{} {} is suspended.", look.kind, look.job->name()), now());
  if (look.status.contains("replicaStatuses"))
    for (auto& replica : look.status["replicaStatuses"]) replica.erase("active");
}

// activeDeadlineSeconds and backoffLimit: looked at only when something else has woken the operator, and only containers that run now count for the
// limit (docs/design/operators.md, Limits).
bool TrainingOperator::out_of_bounds(Look& look) {
  const auto& policy = look.policy();
  const auto started = seconds_of(text_at(look.status, {"startTime"}));
  const auto deadline = number_at(policy, {"activeDeadlineSeconds"}, -1);
  if (deadline >= 0 && started != 0 && clock() >= Time{std::chrono::seconds(started + deadline)}) {
    fail(look, fmt::format("Job {} has failed because it was active longer than specified deadline", look.job->name()));
    return true;
  }
  const auto limit = number_at(policy, {"backoffLimit"}, -1);
  if (limit < 0) return false;
  std::int64_t restarts = 0;
  for (const auto& pod : pods_of(look.job))
    if (phase_of(*pod) == "Running" && text_at(pod->object, {"spec", "restartPolicy"}) != "Never") restarts += restarts_of(*pod);
  if (restarts == 0 || restarts < limit) return false;
  fail(look, fmt::format("Job {} has failed because it has reached the specified backoff limit", look.job->name()));
  return true;
}

void TrainingOperator::look_at_replicas(Look& look) {
  const auto& specs = look.job->object.at("spec").at(std::string(replica_specs(look.kind)));
  const std::string job_name(look.job->name());
  for (const auto& [type, spec] : specs.items()) {
    auto& tally = look.tallies[type];
    tally.replicas = static_cast<int>(number_at(spec, {"replicas"}, type == "Worker" && look.kind == "MPIJob" ? 0 : 1));
    auto policy = std::string(text_at(spec, {"restartPolicy"}));
    if (policy.empty()) policy = default_restart(look.kind);
    tally.restarts_never = policy == "Never";
    const bool master_role = type == "Master" || type == "Chief" || type == "Launcher" ||
                             (type == "Worker" && !specs.contains("Master") && !specs.contains("Chief") && !specs.contains("Launcher"));
    for (int i = 0; i < tally.replicas; ++i) {
      const bool launcher = type == "Launcher";
      const auto name = launcher ? job_name + "-launcher" : fmt::format("{}-{}-{}", job_name, lower(type), i);
      Json labels = {{"training.kubeflow.org/operator-name", operator_name(look.kind)},
                     {"training.kubeflow.org/job-name", job_name},
                     {"training.kubeflow.org/replica-type", lower(type)}};
      if (!launcher) labels["training.kubeflow.org/replica-index"] = std::to_string(i);
      if (master_role && i == 0) labels["training.kubeflow.org/job-role"] = "master";
      handle_pod(look, tally, type, name, policy, spec.at("template"), labels);
    }
    Json& counts = look.status["replicaStatuses"][type];
    counts = Json::object();
    if (tally.active != 0) counts["active"] = tally.active;
    if (tally.succeeded != 0) counts["succeeded"] = tally.succeeded;
    if (tally.failed != 0) counts["failed"] = tally.failed;
  }
}

void TrainingOperator::handle_pod(Look& look, Tally& tally, const std::string& /*type*/, const std::string& name, const std::string& policy,
                                  const Json& pod_template, const Json& labels) {
  const auto pod = m_store.find(*m_store.resource("v1", "pods"), look.job->name_space(), name);
  if (pod == nullptr || !pod->owned_by(look.job->uid())) {
    look.created |= create_pod(look.job, name, pod_template, labels, policy == "ExitCode" ? "Never" : policy);
    return;
  }
  const auto phase = phase_of(*pod);
  if (phase == "Running") ++tally.active;
  if (phase == "Succeeded") {
    ++tally.succeeded;
    if (text_at(pod->object, {"metadata", "labels", "training.kubeflow.org/replica-index"}) == "0") tally.first_done = true;
  }
  if (phase != "Failed") return;
  const auto code = exit_code_of(*pod);
  // An evicted pod has no exit code, which counts as one that can be tried again. MPIJob v1 says Restarting for ExitCode, and restarts nothing.
  const bool again = policy == "OnFailure" || policy == "Always" || (policy == "ExitCode" && (code >= 128 || code < 0));
  if (again) {
    look.restarting = true;
    ++tally.failed;
    if (look.kind != "MPIJob" && !pod->deleting()) delete_pod(pod);
    if (look.kind == "MPIJob" && policy != "ExitCode") look.restarting = false;
    return;
  }
  ++tally.failed;
  if (policy == "ExitCode") look.failed_for_good = true;
}

void TrainingOperator::succeed(Look& look) {
  look.set("Succeeded", true, "Succeeded", fmt::format("{} {} is successfully completed.", look.kind, look.job->name()), now());
  if (!look.status.contains("completionTime")) look.status["completionTime"] = now();
}

void TrainingOperator::fail(Look& look, const std::string& message, bool with_time) {
  look.set("Failed", true, look.kind == "MPIJob" ? "MPIJobFailed" : "Failed", message, now());
  if (with_time && !look.status.contains("completionTime")) look.status["completionTime"] = now();
}

void TrainingOperator::judge(Look& look) {
  if (look.kind == "PyTorchJob") return judge_pytorch(look);
  if (look.kind == "TFJob") return judge_tf(look);
  judge_mpi(look);
}

// The operator goes through a Go map: whether it sees the master's success or a worker's failure first is chance.
void TrainingOperator::judge_pytorch(Look& look) {
  const bool has_master = look.tallies.contains("Master");
  std::vector<std::string> types;
  types.reserve(look.tallies.size());
  for (const auto& [type, tally] : look.tallies) types.push_back(type);
  if (types.size() > 1 && m_random.chance(0.5)) std::swap(types.front(), types.back());
  for (const auto& type : types) {
    const auto& tally = look.tallies[type];
    const bool counts = has_master ? type == "Master" : type == "Worker";
    if (counts && tally.active > 0 && !look.restarting)
      look.set("Running", true, "Running", fmt::format("{} {} is running.", look.kind, look.job->name()), now());
    const bool elastic = dig(look.job->object, {"spec", "elasticPolicy"}) != nullptr;
    if (counts && tally.succeeded > 0 && (tally.succeeded == tally.replicas || (!has_master && elastic))) succeed(look);
    if (tally.failed == 0 || has_condition(look.status, "Succeeded")) continue;
    const bool final = look.failed_for_good || (tally.restarts_never && tally.replicas > tally.succeeded + tally.active);
    if (final)
      fail(look, fmt::format("{} {} is failed because {} {} replica(s) failed.", look.kind, look.job->name(), tally.failed, type),
           !look.failed_for_good);
  }
}

// Succeeded and then Failed in the same pass, if another pod has failed.
void TrainingOperator::judge_tf(Look& look) {
  const auto chief = look.tallies.contains("Chief") ? "Chief" : look.tallies.contains("Master") ? "Master" : "";
  const auto& leading = look.tallies[*chief != '\0' ? chief : "Worker"];
  int failed = 0;
  for (const auto& [type, tally] : look.tallies) failed += tally.failed;
  if (leading.active > 0 && !look.restarting)
    look.set("Running", true, "Running", fmt::format("{} {} is running.", look.kind, look.job->name()), now());
  const bool done = *chief != '\0' ? leading.succeeded > 0 : leading.first_done || leading.succeeded == leading.replicas;
  if (done) succeed(look);
  if (failed > 0 && !look.restarting) fail(look, fmt::format("{} {} has failed because {} replica(s) failed.", look.kind, look.job->name(), failed));
}

void TrainingOperator::judge_mpi(Look& look) {
  const auto& launcher = look.tallies["Launcher"];
  if (launcher.active > 0 && !look.restarting)
    look.set("Running", true, "Running", fmt::format("{} {} is running.", look.kind, look.job->name()), now());
  if (launcher.succeeded > 0) return succeed(look);
  if (!look.restarting && (launcher.failed > 0 || look.tallies["Worker"].failed > 0))
    fail(look,
         fmt::format("{} {} is failed because {} replica(s) failed.", look.kind, look.job->name(), launcher.failed > 0 ? "Launcher" : "Worker"));
}

}  // namespace trainstep::sim
