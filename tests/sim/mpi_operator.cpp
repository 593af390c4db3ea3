// SPDX-License-Identifier: Apache-2.0
#include "sim/mpi_operator.h"

#include <fmt/format.h>

namespace trainstep::sim {
namespace {

Json labels_of(const VersionPtr& job, std::string_view role) {
  return {{"training.kubeflow.org/operator-name", "mpi-operator"},
          {"training.kubeflow.org/job-name", job->name()},
          {"training.kubeflow.org/job-role", role}};
}

const Json& policy_of(const VersionPtr& job) { return part_of(job->object, {"spec", "runPolicy"}); }

const Json& replica(const VersionPtr& job, const char* type) { return job->object.at("spec").at("mpiReplicaSpecs").at(type); }

}  // namespace

VersionPtr MpiOperator::launcher_of(const VersionPtr& job) const {
  return m_store.find(*m_store.resource("batch/v1", "jobs"), job->name_space(), std::string(job->name()) + "-launcher");
}

// runPolicy's limits are copied to the launcher's Job, and to nothing else.
void MpiOperator::create_launcher(const VersionPtr& job, bool suspended) {
  const auto& policy = policy_of(job);
  auto pod_template = replica(job, "Launcher").at("template");
  pod_template["metadata"]["labels"].update(labels_of(job, "launcher"));
  const auto restart = text_at(replica(job, "Launcher"), {"restartPolicy"});
  pod_template["spec"]["restartPolicy"] = restart.empty() ? "OnFailure" : restart;
  Json spec = {{"template", pod_template}};
  for (const auto* key : {"backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"})
    if (policy.contains(key)) spec[key] = policy.at(key);
  if (suspended) spec["suspend"] = true;
  m_store.create(*m_store.resource("batch/v1", "jobs"), {{"apiVersion", "batch/v1"},
                                                         {"kind", "Job"},
                                                         {"metadata",
                                                          {{"name", std::string(job->name()) + "-launcher"},
                                                           {"namespace", job->name_space()},
                                                           {"labels", {{"app", job->name()}}},
                                                           {"ownerReferences", Json::array({controller_reference(job)})}}},
                                                         {"spec", spec}});
}

int MpiOperator::look_at_workers(const VersionPtr& job, int wanted) {
  int running = 0;
  bool evicted = false;
  for (int i = 0; i < wanted; ++i) {
    const auto name = fmt::format("{}-worker-{}", job->name(), i);
    const auto pod = m_store.find(*m_store.resource("v1", "pods"), job->name_space(), name);
    if (pod == nullptr || !pod->owned_by(job->uid())) {
      auto labels = labels_of(job, "worker");
      labels["training.kubeflow.org/replica-index"] = std::to_string(i);
      const auto policy = text_at(replica(job, "Worker"), {"restartPolicy"});
      if (!create_pod(job, name, replica(job, "Worker").at("template"), labels, policy.empty() ? "Never" : policy)) break;
    } else if (phase_of(*pod) == "Running") {
      ++running;
    } else if (phase_of(*pod) == "Failed" && text_at(pod->object, {"status", "reason"}) == "Evicted") {
      evicted = true;
    }
  }
  return evicted ? -1 : running;
}

// Only workers are ever removed.
void MpiOperator::clean(const VersionPtr& job) {
  const auto clean = text_at(policy_of(job), {"cleanPodPolicy"});
  if (clean != "Running" && clean != "All") return;
  for (const auto& pod : pods_of(job)) {
    const auto phase = phase_of(*pod);
    if (!pod->deleting() && (clean == "All" || phase == "Running" || phase == "Pending")) delete_pod(pod);
  }
}

void MpiOperator::reconcile(const VersionPtr& job) {
  auto status = job->object.value("status", Json::object());
  const auto set = [&](const std::string& type, bool holds, const std::string& reason, const std::string& message) {
    set_operator_condition(status, type, holds, "MPIJob" + reason, message, now());
  };
  if (status.contains("completionTime") && (has_condition(status, "Succeeded") || has_condition(status, "Failed"))) return clean(job);
  if (!status.contains("conditions")) set("Created", true, "Created", fmt::format("MPIJob {}/{} is created.", job->name_space(), job->name()));
  const bool suspended = policy_of(job).value("suspend", false);
  const auto launcher = launcher_of(job);
  const auto workers = static_cast<int>(number_at(replica(job, "Worker"), {"replicas"}));
  int running = 0;
  if (suspended) {
    for (const auto& pod : pods_of(job))
      if (!pod->deleting()) delete_pod(pod);
    set("Running", false, "Suspended", "MPIJob is suspended");
    set("Suspended", true, "Suspended", "MPIJob suspended");
  } else {
    if (has_condition(status, "Suspended")) {
      set("Suspended", false, "Resumed", "MPIJob resumed");
      status["startTime"] = now();
    }
    running = look_at_workers(job, workers);
    if (!status.contains("startTime")) status["startTime"] = now();
  }
  const bool waits = text_at(job->object, {"spec", "launcherCreationPolicy"}) == "WaitForWorkersReady" && running < workers && !suspended;
  if (launcher == nullptr && !waits) create_launcher(job, suspended);
  if (launcher != nullptr && launcher->object.at("spec").value("suspend", false) != suspended)
    m_store.update(launcher->uid(), [suspended](Json& changed) { changed["spec"]["suspend"] = suspended; });
  judge(job, launcher, workers, running, status);
  write_status(job, std::move(status));
}

void MpiOperator::judge(const VersionPtr& job, const VersionPtr& launcher, int workers, int running, Json& status) {
  const auto set = [&](const std::string& type, const std::string& reason, const std::string& message) {
    set_operator_condition(status, type, true, reason, message, now());
  };
  const Json nothing = Json::object();
  const auto& its = launcher == nullptr ? nothing : part_of(launcher->object, {"status"});
  auto& counts = status["replicaStatuses"];
  counts = {{"Launcher", Json::object()}, {"Worker", Json::object()}};
  for (const auto* key : {"active", "succeeded", "failed"})
    if (const auto count = number_at(its, {key}); count != 0) counts["Launcher"][key] = count;
  if (running > 0) counts["Worker"]["active"] = running;
  if (has_condition(its, "Complete")) {
    // An older Failed (an eviction that did no harm) is taken back.
    for (auto& old : status["conditions"])
      if (old.at("type") == "Failed") old["status"] = "False";
    set("Succeeded", "MPIJobSucceeded", fmt::format("MPIJob {}/{} successfully completed.", job->name_space(), job->name()));
    if (!status.contains("completionTime")) status["completionTime"] = now();
  } else if (has_condition(its, "Failed")) {
    std::string reason = "MPIJobFailed", message;
    for (const auto& condition : its.at("conditions"))
      if (condition.at("type") == "Failed") {
        reason = text_at(condition, {"reason"});
        message = text_at(condition, {"message"});
      }
    set("Failed", reason, message);
    if (!status.contains("completionTime")) status["completionTime"] = now();
  } else if (running < 0) {
    set("Failed", "MPIJobEvicted", fmt::format("{}/{} workers are evicted", 1, workers));  // may still turn into a success
  } else if (number_at(its, {"ready"}) > 0 && running == workers) {
    set("Running", "MPIJobRunning", fmt::format("MPIJob {}/{} is running.", job->name_space(), job->name()));
  }
}

}  // namespace trainstep::sim
