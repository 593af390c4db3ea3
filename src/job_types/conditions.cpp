// SPDX-License-Identifier: Apache-2.0
#include "job_types/conditions.h"

#include <algorithm>

#include "base/time.h"

namespace trainstep::job_types {
namespace {

std::string member(const Json& condition, std::string_view key) {
  const auto* value = trainstep::find(condition, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

bool counts_one(const Json& counts) {
  const auto* succeeded = counts.is_object() ? trainstep::find(counts, "succeeded") : nullptr;
  return succeeded != nullptr && succeeded->is_number_integer() && *succeeded > 0;
}

// A Job counts all pods, the operators count those of each replica type.
bool counts_a_success(const Json& object) {
  const auto* status = status_of(object);
  if (status == nullptr || counts_one(*status)) return status != nullptr;
  const auto* types = trainstep::find(*status, "replicaStatuses");
  return types != nullptr && types->is_object() && std::any_of(types->begin(), types->end(), counts_one);
}

}  // namespace

const Json* status_of(const Json& object) {
  const auto* status = object.is_object() ? trainstep::find(object, "status") : nullptr;
  return status != nullptr && status->is_object() ? status : nullptr;
}

const Json* true_condition(const Json& object, std::string_view type) {
  const auto* status = status_of(object);
  const auto* conditions = status != nullptr ? trainstep::find(*status, "conditions") : nullptr;
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  const Json* latest = nullptr;
  std::optional<Time> changed;
  for (const auto& condition : *conditions) {
    if (!condition.is_object() || member(condition, "type") != type) continue;
    const auto its = from_rfc3339(member(condition, "lastTransitionTime"));
    if (latest != nullptr && its < changed) continue;
    latest = &condition;
    changed = its;
  }
  return latest != nullptr && member(*latest, "status") == "True" ? latest : nullptr;
}

Judgement judged(Judgement::State state, const Json& condition) { return {state, member(condition, "reason"), member(condition, "message")}; }

std::optional<Judgement> judge_end(const Json& object, const Json* success, const Json* failure) {
  if (success == nullptr) return failure == nullptr ? std::nullopt : std::optional(judged(Judgement::State::failed, *failure));
  auto result = judged(Judgement::State::succeeded, *success);
  if (!counts_a_success(object)) result.reason = uncounted;
  if (failure != nullptr) result.reason = contradicted;
  return result;
}

Judgement judge_unfinished(const Json& object) {
  using enum Judgement::State;
  if (const auto* condition = true_condition(object, "Suspended")) return judged(suspended, *condition);
  if (const auto* condition = true_condition(object, "Restarting")) return judged(restarting, *condition);
  if (const auto* condition = true_condition(object, "Running")) return judged(running, *condition);
  if (const auto* condition = true_condition(object, "Created")) return judged(pending, *condition);
  return {};
}

}  // namespace trainstep::job_types
