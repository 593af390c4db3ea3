// SPDX-License-Identifier: Apache-2.0
#include "cluster/ownership.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cluster/job_data.h"
#include "cluster/keep_deadline.h"
#include "cluster/marks.h"
#include "job_types/conditions.h"
#include "job_types/object.h"
#include "job_types/templates.h"

namespace trainstep::cluster {
namespace {

std::string entry(const Json& object, std::string_view map, std::string_view key) {
  const auto* metadata = trainstep::find(object, "metadata");
  const auto* entries = metadata != nullptr && metadata->is_object() ? trainstep::find(*metadata, map) : nullptr;
  const auto* value = entries != nullptr && entries->is_object() ? trainstep::find(*entries, key) : nullptr;
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

// The value of a label: at most 63 characters, the last one a letter or digit.
std::string label_value(std::string text) {
  text.resize(std::min<std::size_t>(text.size(), 63));
  while (!text.empty() && std::isalnum(static_cast<unsigned char>(text.back())) == 0) text.pop_back();
  return text;
}

// The metadata of the job and its pods: job_types/ renders the plan's labels into the same places.
template <typename Take>
void for_each_metadata(Json& object, Take take) {
  take(object["metadata"]);
  for (const auto& one : job_types::pod_templates(object)) take(object[Json::json_pointer(one.pointer)]["metadata"]);
}

// A step does not accept a success from a status that counts none, if it has seen no pod.
bool is_no_success(const job_types::Judgement& judged) {
  using enum job_types::Judgement::State;
  return judged.state == failed || (judged.state == succeeded && judged.reason == job_types::uncounted);
}

}  // namespace

void stamp(Json& object, const Facts& facts, const std::string& name_space, const std::string& attempt) {
  auto& metadata = object["metadata"];
  metadata["namespace"] = name_space;
  metadata["annotations"][attempt_annotation] = attempt;
  metadata["annotations"][version_annotation] = TRAINSTEP_VERSION;
  for_each_metadata(object, [&](Json& of) {
    if (!facts.pipeline_run.empty()) of["labels"]["pipeline/runid"] = facts.pipeline_run;
    if (facts.workflow) of["labels"][workflow_label] = label_value(facts.workflow->name);
  });
  own(object, facts);
}

void own(Json& object, const Facts& facts) {
  if (!facts.workflow) return;
  // No blockOwnerDeletion: it needs a permission on the finalizers of the Workflow (admission OwnerReferencesPermissionEnforcement).
  object["metadata"]["ownerReferences"] = Json::array(
      {{{"apiVersion", facts.workflow->api_version}, {"kind", "Workflow"}, {"name", facts.workflow->name}, {"uid", facts.workflow->uid}}});
}

std::string jobs_selector() { return fmt::format("{}={}", manager_label, manager); }

bool is_of_run(const Json& job, std::string_view run) { return entry(job, "labels", run_label) == run && manager_of(job) == manager; }

std::string manager_of(const Json& job) { return entry(job, "labels", manager_label); }

bool is_of_workflow(const Json& job, const Workflow& workflow) { return entry(job, "labels", workflow_label) == label_value(workflow.name); }

std::optional<result::VerdictClass> outcome_of(const Json& job) {
  using enum result::VerdictClass;
  const auto told = entry(job, "annotations", outcome_annotation);
  for (const auto known : {succeeded, user, input, system, timeout, capacity, interrupted, cancelled})
    if (told == result::name(known)) return known;
  if (!told.empty()) return system;  // a failure that only a newer release knows
  return std::nullopt;
}

std::optional<Time> began_by(const Json& job) { return from_rfc3339(entry(job, "annotations", began_annotation)); }

bool is_of_later_attempt(const Json& job, std::optional<Time> began) {
  const auto theirs = began_by(job);
  return began && theirs && *theirs > *began;
}

Existing judge_existing(const Json& object, const plan::Plan& plan, const job_types::JobType& job_type, const std::string& attempt,
                        std::optional<Time> began) {
  if (!is_of_run(object, plan.run_id)) return Existing::foreign;
  if (is_of_later_attempt(object, began)) return Existing::later_attempt;
  const auto* metadata = trainstep::find(object, "metadata");
  if (trainstep::find(*metadata, "deletionTimestamp") != nullptr) return Existing::terminating;
  if (entry(object, "annotations", attempt_annotation) == attempt) return Existing::ours;
  const auto outcome = entry(object, "annotations", outcome_annotation);
  const auto& wanted = plan.options.reattach;
  if (wanted == "never" || (wanted == "unfinished" && !outcome.empty())) return Existing::unwanted;
  if (!entry(object, "annotations", data_annotation).empty()) return Existing::emptied;
  if (has_expired(object, job_type, plan.options.run_policy.active_deadline)) return Existing::lapsed;
  if (!outcome.empty() && outcome != "succeeded" && is_no_success(job_type.judge(object))) return Existing::reported_failure;
  const auto hash = entry(object, "annotations", job_types::spec_hash_annotation);
  if (!hash.empty() && has_data_elsewhere(object, plan)) return Existing::other_spec;
  if (hash != plan.spec_hash) return hash.empty() ? Existing::unknown_spec : Existing::other_spec;
  return Existing::earlier_attempt;
}

}  // namespace trainstep::cluster
