// SPDX-License-Identifier: Apache-2.0
#include "job_types/training_operator.h"

#include <fmt/format.h>

#include "base/text.h"
#include "job_types/conditions.h"
#include "job_types/object.h"

namespace trainstep::job_types {

Resource v1_resource(std::string_view kind, std::string_view plural) {
  return {.group_version = "kubeflow.org/v1", .kind = kind, .plural = plural, .run_policy = "runPolicy", .keeps_backoff_limit = false};
}

Manifest run_policy(const plan::Plan& plan) {
  const auto& policy = plan.options.run_policy;
  Manifest result;
  const bool usual = policy.clean_pod_policy == "Running";
  result.set("/cleanPodPolicy", policy.clean_pod_policy,
             usual ? "default: frees the other pods' GPUs when the job ends" : "job_options.run_policy.clean_pod_policy");
  if (policy.active_deadline) result.set("/activeDeadlineSeconds", seconds(*policy.active_deadline), "job_options.run_policy.active_deadline");
  if (policy.ttl_after_finished) result.set("/ttlSecondsAfterFinished", seconds(*policy.ttl_after_finished), ttl_source(plan));
  if (policy.suspend) result.set("/suspend", true, "job_options.run_policy.suspend");
  if (!plan.options.gang.is_null()) result.set("/schedulingPolicy", plan.options.gang, "job_options.gang");
  return result;
}

Manifest v1_run_policy(const plan::Plan& plan) {
  auto result = run_policy(plan);
  const auto& policy = plan.options.run_policy;
  if (policy.restart_policy != "Never") result.set("/backoffLimit", policy.backoff_limit, "job_options.run_policy");
  return result;
}

Manifest replica_spec(const plan::Plan& plan, const Replicas& replicas, const std::string& restart_policy, const PodShape& shape) {
  Manifest result;
  result.set("/replicas", replicas.count,
             replicas.only             ? fmt::format("default: there is one {}", replicas.type)
             : replicas.source.empty() ? workers_source(plan)
                                       : replicas.source);
  result.set("/restartPolicy", restart_policy, restart_policy == "Never" ? "default" : "job_options.run_policy.restart_policy");
  result.merge("/template", pod_template(plan, shape));
  return result;
}

Result<std::string> v1_restart_policy(const plan::Plan& plan) {
  const auto& policy = plan.options.run_policy.restart_policy;
  if (policy == "Always")
    return input_error(
        "job_options.run_policy.restart_policy: Always restarts a program that has succeeded, so the job would never end; use OnFailure");
  return policy;
}

Judgement judge_v1(const Json& object) {
  const auto end = judge_end(object, true_condition(object, "Succeeded"), true_condition(object, "Failed"));
  return end ? *end : judge_unfinished(object);
}

std::vector<std::pair<std::string_view, int>> services(const plan::Plan& plan, const Resource& /*resource*/) {
  int count = 0;
  for (const auto& each : find(plan.job_type).replicas(plan)) count += each.count;
  return {{"services", count}};
}

std::string v1_pods(std::string_view operator_name, const std::string& job_name, const std::string& type, int index) {
  auto selector = fmt::format("training.kubeflow.org/operator-name={},training.kubeflow.org/job-name={}", operator_name, job_name);
  if (!type.empty()) selector += ",training.kubeflow.org/replica-type=" + lower(type);
  if (!type.empty() && index >= 0) selector += fmt::format(",training.kubeflow.org/replica-index={}", index);
  return selector;
}

}  // namespace trainstep::job_types
