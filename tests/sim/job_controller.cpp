// SPDX-License-Identifier: Apache-2.0
#include "sim/job_controller.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainstep::sim {
namespace {

constexpr auto tracking_finalizer = "batch.kubernetes.io/job-tracking";

std::string index_of(const Version& pod) {
  return std::string(text_at(pod.object, {"metadata", "labels", "batch.kubernetes.io/job-completion-index"}));
}

bool indexed(const Version& job) { return text_at(job.object, {"spec", "completionMode"}) == "Indexed"; }

void set_job_condition(Json& status, const std::string& type, const std::string& reason, const std::string& message, const std::string& now) {
  if (has_condition(status, type)) return;
  status["conditions"].push_back(
      {{"type", type}, {"status", "True"}, {"lastProbeTime", now}, {"lastTransitionTime", now}, {"reason", reason}, {"message", message}});
}

const Json* condition_of(const Json& status, std::string_view type) {
  const auto* conditions = dig(status, {"conditions"});
  if (conditions == nullptr) return nullptr;
  const auto found = std::find_if(conditions->begin(), conditions->end(), [type](const Json& one) { return text_at(one, {"type"}) == type; });
  return found == conditions->end() ? nullptr : &*found;
}

bool disrupted(const Version& pod) { return has_condition(part_of(pod.object, {"status"}), "DisruptionTarget"); }

// The action of the first rule of podFailurePolicy that matches; "Count" if none does.
std::string_view action_for(const Version& job, const Version& pod) {
  const auto* rules = dig(job.object, {"spec", "podFailurePolicy", "rules"});
  if (rules == nullptr) return "Count";
  for (const auto& rule : *rules) {
    if (rule.contains("onPodConditions") && disrupted(pod)) return text_at(rule, {"action"});
    const auto* codes = dig(rule, {"onExitCodes", "values"});
    if (codes == nullptr) continue;
    const bool in = std::find(codes->begin(), codes->end(), exit_code_of(pod)) != codes->end();
    if (exit_code_of(pod) > 0 && in == (text_at(rule, {"onExitCodes", "operator"}) == "In")) return text_at(rule, {"action"});
  }
  return "Count";
}

}  // namespace

JobController::JobController(Store& store, Collector& collector, Random random) : Controller(store, collector, random) {
  store.listen([this](const Happening& happening) {
    const auto& object = *happening.now;
    if (happening.sort == Happening::Sort::deleted || !object.deleting()) return;
    if (object.resource->plural == "pods") return release_soon(object);
    // Of a job that begins to go, also those that were going before.
    if (object.resource->plural == "jobs" && !happening.before->deleting())
      for (const auto& pod : pods_of(happening.now))
        if (pod->deleting()) release_soon(*pod);
  });
}

void JobController::release_soon(const Version& pod) {
  if (dig(pod.object, {"metadata", "finalizers"}) == nullptr) return;
  m_store.loop().after(m_random.between(Duration{5}, Duration{100}), [this, uid = std::string(pod.uid())] { release(uid); });
}

// The pods of a terminating or deleted job are not counted: their finalizers must not hold them.
void JobController::release(const std::string& pod_uid) {
  const auto pod = m_store.by_uid(pod_uid);
  if (pod == nullptr) return;
  if (const auto* owners = dig(pod->object, {"metadata", "ownerReferences"}))
    for (const auto& owner : *owners)
      if (const auto live = m_store.by_uid(text_at(owner, {"uid"})); live != nullptr && !live->deleting()) return;
  m_store.update(pod_uid, [](Json& changed) { changed["metadata"].erase("finalizers"); });
}

// A pod counts once, when it has ended or is gone; then its finalizer goes.
JobController::Count JobController::count(const VersionPtr& job, const std::vector<VersionPtr>& pods) {
  Count result;
  auto& ended = m_ended[std::string(job->uid())];
  for (const auto& pod : pods) {
    const std::string uid(pod->uid());
    const auto phase = phase_of(*pod);
    const bool over =
        phase == "Succeeded" || phase == "Failed" || (pod->deleting() && number_at(pod->object, {"metadata", "deletionGracePeriodSeconds"}) == 0);
    if (!over) {
      if (pod->deleting()) {
        ++result.terminating;
        if (text_at(job->object, {"spec", "podReplacementPolicy"}) != "Failed" && dig(job->object, {"spec", "podFailurePolicy"}) == nullptr) continue;
      } else {
        ++result.active;
        if (phase == "Running") ++result.ready;
      }
      result.taken.insert(index_of(*pod));
      continue;
    }
    const auto action = phase == "Succeeded" ? std::string_view("Count") : action_for(*job, *pod);
    if (!ended.contains(uid) && action != "Ignore" && !m_suspended.contains(uid)) {
      ended[uid] = phase == "Succeeded";
      if (phase != "Succeeded") m_last_failure[std::string(job->uid())] = clock();
    }
    if (action == "FailJob") result.rule_failed = true;
    if (phase == "Succeeded") result.done.insert(index_of(*pod));
    m_store.update(uid, [](Json& changed) { changed["metadata"].erase("finalizers"); });
  }
  for (const auto& [uid, succeeded] : ended) ++(succeeded ? result.succeeded : result.failed);
  return result;
}

void JobController::finish(const VersionPtr& job, Json& status, const std::string& type, const std::string& reason, const std::string& message) {
  const bool success = type == "Complete";
  set_job_condition(status, success ? "SuccessCriteriaMet" : "FailureTarget", reason, message, now());
  bool left = false;
  for (const auto& pod : pods_of(job)) {
    if (phase_of(*pod) == "Succeeded" || phase_of(*pod) == "Failed") continue;
    left = true;
    if (!pod->deleting()) delete_pod(pod);
  }
  if (left) return;
  status["active"] = 0;
  status["ready"] = 0;
  if (success && !status.contains("completionTime")) status["completionTime"] = now();
  set_job_condition(status, type, reason, message, now());
}

void JobController::expire(const VersionPtr& job, const Json& status) {
  const auto ttl = number_at(job->object, {"spec", "ttlSecondsAfterFinished"}, -1);
  if (ttl < 0) return;
  std::int64_t finished = 0;
  for (const auto& condition : status.at("conditions"))
    if (condition.at("type") == "Complete" || condition.at("type") == "Failed") finished = seconds_of(text_at(condition, {"lastTransitionTime"}));
  const auto due = Time{std::chrono::seconds(finished + ttl)};
  if (clock() >= due)
    m_collector.remove(job, Propagation::foreground);
  else
    wake(std::string(job->uid()), due - clock());
}

void JobController::suspend(Json& status, const std::vector<VersionPtr>& pods) {
  for (const auto& pod : pods)
    if (!pod->deleting() && phase_of(*pod) != "Succeeded" && phase_of(*pod) != "Failed") {
      m_suspended.emplace(pod->uid());
      delete_pod(pod);
    }
  status.erase("startTime");
  status["active"] = 0;
  status["ready"] = 0;
  auto& conditions = status["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  for (auto& condition : conditions)
    if (condition.at("type") == "Suspended") condition["status"] = "True";
  set_job_condition(status, "Suspended", "JobSuspended", "Job suspended", now());
}

void JobController::start_pods(const VersionPtr& job, const Count& count) {
  const auto completions = static_cast<int>(number_at(job->object, {"spec", "completions"}, 1));
  const auto wanted = std::min(static_cast<int>(number_at(job->object, {"spec", "parallelism"}, 1)), completions - count.succeeded);
  const auto waits = text_at(job->object, {"spec", "podReplacementPolicy"}) == "Failed" ? count.terminating : 0;
  if (count.active + waits >= wanted) return;
  const auto failure = m_last_failure.find(std::string(job->uid()));
  if (count.failed > 0 && failure != m_last_failure.end()) {
    const auto due = failure->second + Duration{10'000} * (1 << std::min(count.failed - 1, 5));
    if (clock() < due) return wake(std::string(job->uid()), due - clock());
  }
  const std::string name(job->name()), uid(job->uid());
  const Json labels = {
      {"batch.kubernetes.io/job-name", name}, {"batch.kubernetes.io/controller-uid", uid}, {"job-name", name}, {"controller-uid", uid}};
  const auto policy = std::string(text_at(job->object, {"spec", "template", "spec", "restartPolicy"}));
  int missing = wanted - count.active - waits;
  for (int i = 0; i < completions && missing > 0; ++i) {
    auto its = labels;
    auto pod_name = fmt::format("{}-{}", name, m_random.suffix());
    if (indexed(*job)) {
      const auto index = std::to_string(i);
      if (count.done.contains(index) || count.taken.contains(index)) continue;
      its["batch.kubernetes.io/job-completion-index"] = index;
      pod_name = fmt::format("{}-{}-{}", name, i, m_random.suffix());
    }
    if (!create_pod(job, pod_name, job->object.at("spec").at("template"), its, policy, Json::array({tracking_finalizer}))) return;
    --missing;
  }
}

// It may be set, moved and taken away while the job runs.
void JobController::look_at_deadline(const VersionPtr& job, const Json& status, std::int64_t deadline) {
  auto& planned = m_deadlines[std::string(job->uid())];
  if (deadline < 0 || planned == deadline) return;
  planned = deadline;
  const auto due = Time{std::chrono::seconds(seconds_of(text_at(status, {"startTime"})) + deadline + 1)};
  wake(std::string(job->uid()), std::max(Duration{0}, std::chrono::duration_cast<Duration>(due - clock())));
}

void JobController::reconcile(const VersionPtr& job) {
  auto status = job->object.value("status", Json::object());
  if (has_condition(status, "Complete") || has_condition(status, "Failed")) return expire(job, status);
  const auto pods = pods_of(job);
  const auto counted = count(job, pods);
  const auto write = [&](const char* key, int value) {
    if (value != 0 || status.contains(key)) status[key] = value;
  };
  write("active", counted.active);
  write("ready", counted.ready);
  write("terminating", counted.terminating);
  write("succeeded", counted.succeeded);
  write("failed", counted.failed);
  const auto deadline = number_at(job->object, {"spec", "activeDeadlineSeconds"}, -1);
  const bool suspended = job->object.at("spec").value("suspend", false);
  const auto due = Time{std::chrono::seconds(seconds_of(text_at(status, {"startTime"})) + deadline)};
  if (counted.succeeded >= number_at(job->object, {"spec", "completions"}, 1)) {
    finish(job, status, "Complete", "CompletionsReached", "Reached expected number of succeeded pods");
  } else if (counted.rule_failed) {
    finish(job, status, "Failed", "PodFailurePolicy", "Container train failed with an exit code matching FailJob rule at index 1");
  } else if (const auto* aimed = condition_of(status, "FailureTarget"); aimed != nullptr) {
    finish(job, status, "Failed", std::string(text_at(*aimed, {"reason"})), std::string(text_at(*aimed, {"message"})));
  } else if (counted.failed > number_at(job->object, {"spec", "backoffLimit"}, 6)) {
    finish(job, status, "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit");
  } else if (suspended) {
    suspend(status, pods);
  } else if (deadline >= 0 && status.contains("startTime") && clock() >= due) {
    finish(job, status, "Failed", "DeadlineExceeded", "Job was active longer than specified deadline");
  } else {
    if (status.contains("conditions"))
      for (auto& condition : status["conditions"])
        if (condition.at("type") == "Suspended" && condition.at("status") == "True") {
          condition["status"] = "False";
          condition["reason"] = "JobResumed";
          condition["message"] = "Job resumed";
        }
    if (!status.contains("startTime")) status["startTime"] = now();
    look_at_deadline(job, status, deadline);
    start_pods(job, counted);
  }
  write_status(job, std::move(status));
}

}  // namespace trainstep::sim
