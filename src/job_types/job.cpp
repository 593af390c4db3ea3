// batch/v1 Job (docs/design/operators.md, Job types): one pod, or with `indexed` N pods that know their index (checked by plan/distribution.h).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "job_types/agent.h"
#include "job_types/conditions.h"
#include "job_types/object.h"
#include "job_types/pod_template.h"
#include "job_types/table.h"

namespace trainstep::job_types::job {
namespace {

constexpr auto container_name = "train";

std::vector<Replicas> replicas(const plan::Plan& plan) {
  const int workers = plan.distribution.workers;
  if (plan.distribution.indexed) return {{.type = "Worker", .count = workers, .resources = plan.worker, .primary = true, .awaited = workers}};
  return {{.type = "Main", .resources = plan.worker, .primary = true, .awaited = 1, .only = true, .numbered = false}};
}

Result<void> check(const plan::Plan& plan) {
  if (plan.options.run_policy.restart_policy == "Always")
    return input_error("job_options.run_policy.restart_policy: a Job does not support Always; use Never, OnFailure or ExitCode");
  if (!plan.options.gang.is_null() && plan.distribution.workers > 1)
    return input_error("job_options.gang: not supported for a Job with several pods; use job_options.queue (Kueue) or another distribution_type");
  return {};
}

// Retries are new pods (backoffLimit), never restarts in place: when the limit is reached, the Job controller deletes a pod that restarts in place,
// including its log (docs/design/operators.md, Restarts). So restartPolicy is always Never.
void add_retries(const plan::Plan& plan, Manifest& object) {
  const auto& policy = plan.options.run_policy;
  object.set("/spec/backoffLimit", policy.backoff_limit,
             policy.backoff_limit > 0 ? "job_options.run_policy" : "default: a failed program is not retried");
  if (policy.backoff_limit == 0) return;
  // Two pods of one index must not write the same outputs at the same time.
  object.set("/spec/podReplacementPolicy", "Failed", "default: a new pod waits until the old one has ended");
  const Json disrupted = {{"type", "DisruptionTarget"}, {"status", "True"}};
  object.append("/spec/podFailurePolicy/rules", {{"action", "Ignore"}, {"onPodConditions", Json::array({disrupted})}},
                "default: an eviction is not a failure of the program");
  if (policy.restart_policy != "ExitCode") return;
  Json permanent = Json::array();
  for (int code = 1; code < 128; ++code) permanent.push_back(code);
  object.append("/spec/podFailurePolicy/rules",
                {{"action", "FailJob"}, {"onExitCodes", {{"containerName", container_name}, {"operator", "In"}, {"values", permanent}}}},
                "job_options.run_policy.restart_policy: ExitCode retries only exit codes 128 and above");
}

void add_policy(const plan::Plan& plan, Manifest& object) {
  const auto& policy = plan.options.run_policy;
  if (policy.active_deadline) object.set("/spec/activeDeadlineSeconds", seconds(*policy.active_deadline), "job_options.run_policy.active_deadline");
  if (policy.ttl_after_finished) object.set("/spec/ttlSecondsAfterFinished", seconds(*policy.ttl_after_finished), ttl_source(plan));
  if (policy.suspend) object.set("/spec/suspend", true, "job_options.run_policy.suspend");
  add_retries(plan, object);
}

Result<Manifest> render(const plan::Plan& plan, const Resource& resource) {
  TRY(check(plan));
  const auto replica = replicas(plan).front();
  ASSIGN(auto program, program_arguments(plan, plan::pod_placement(plan, true)));
  auto object = job_object(plan, resource);
  if (plan.distribution.indexed) {
    object.set("/spec/completionMode", "Indexed", "distribution_specification.indexed");
    for (const auto* field : {"/spec/completions", "/spec/parallelism"}) object.set(field, replica.count, workers_source(plan));
  }
  add_policy(plan, object);
  const PodShape shape{.type = replica.type,
                       .container = {container_name, "default"},
                       .command = with_agent(plan, role_of(replica), std::move(program)),
                       .resources = replica.resources,
                       .environment = environment_of(plan, replica.type, plan::pod_placement(plan, true))};
  object.merge("/spec/template", pod_template(plan, shape));
  object.set("/spec/template/spec/restartPolicy", "Never", "default: retries use new pods, so that the log of the failed one is kept");
  return object;
}

int count(const Json& status, std::string_view key) {
  const auto* value = trainstep::find(status, key);
  return value != nullptr && value->is_number_integer() ? value->get<int>() : 0;
}

// Complete and Failed are set only when all pods have ended; SuccessCriteriaMet and FailureTarget are set earlier and mean the same. `failed` > 0
// alone means nothing: the Job may be between two attempts (docs/design/operators.md, Success and failure).
Judgement judge(const Json& object) {
  using enum Judgement::State;
  const auto either = [&](const char* last, const char* before) {
    const auto* condition = true_condition(object, last);
    return condition != nullptr ? condition : true_condition(object, before);
  };
  if (const auto end = judge_end(object, either("Complete", "SuccessCriteriaMet"), either("Failed", "FailureTarget"))) return *end;
  if (const auto* condition = true_condition(object, "Suspended")) return judged(suspended, *condition);
  const auto* status = status_of(object);
  if (status == nullptr || status->empty()) return {};
  if (count(*status, "ready") > 0) return {running, "", ""};
  if (const int failures = count(*status, "failed"); failures > 0)
    return {restarting, "", fmt::format("{} failed so far", failures == 1 ? "one pod has" : fmt::format("{} pods have", failures))};
  return {pending, "", ""};
}

std::string pods(const std::string& job_name, const Resource& /*resource*/, const std::string& type, int index) {
  auto selector = "batch.kubernetes.io/job-name=" + job_name;
  if (type == "Worker" && index >= 0) selector += fmt::format(",batch.kubernetes.io/job-completion-index={}", index);
  return selector;
}

Variables environment(const plan::Plan& plan, const AddressBook& /*addresses*/, const std::string& /*type*/, int index) {
  if (!plan.distribution.indexed) return {};
  return {{"JOB_COMPLETION_INDEX", std::to_string(index)}};
}

void read_distribution(const Json& object, plan::Distribution& distribution) {
  const auto* spec = object.is_object() ? trainstep::find(object, "spec") : nullptr;
  const auto* mode = spec != nullptr && spec->is_object() ? trainstep::find(*spec, "completionMode") : nullptr;
  distribution.indexed = mode != nullptr && *mode == "Indexed";
  if (distribution.indexed) distribution.workers = std::max(1, count(*spec, "completions"));
}

}  // namespace

JobType type() {
  return {.traits = {.name = "Job", .keys = {"indexed"}, .one_pod = true},
          .replica_types = {"Main", "Worker"},
          .resources = {{.group_version = "batch/v1", .kind = "Job", .plural = "jobs"}},
          .replicas = replicas,
          .render = render,
          .judge = judge,
          .pods = pods,
          .environment = environment,
          .read_distribution = read_distribution,
          .container = container_name};
}

}  // namespace trainstep::job_types::job
