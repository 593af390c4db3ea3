// SPDX-License-Identifier: Apache-2.0
#include "cluster/has_run.h"

#include <algorithm>
#include <initializer_list>

#include "base/time.h"
#include "cluster/objects.h"

namespace trainstep::cluster {
namespace {

// Between the creation of a job and the first look of its operator.
constexpr Duration first_look{30'000};

bool counts_pods(const Json* counts) {
  const auto above_zero = [counts](const char* key) {
    const auto* count = at(counts, key);
    return count != nullptr && count->is_number() && *count > 0;
  };
  return std::ranges::any_of(std::initializer_list<const char*>{"active", "failed", "succeeded"}, above_zero);
}

// mpi-operator sets a condition that it does not run also for a job that has only waited.
bool tells_of_a_run(const Json& condition, std::optional<Time> made) {
  const auto type = text(&condition, "type");
  const bool suspended = type == "Suspended";
  if (!suspended && type != "Running" && type != "Restarting") return false;
  if (text(&condition, "status") == (suspended ? "False" : "True")) return true;  // it was resumed, or is running
  const auto since = from_rfc3339(text(&condition, "lastTransitionTime"));
  return since && made && *since - *made >= first_look;
}

}  // namespace

bool has_run(const Json& job) {
  const auto* status = at(&job, "status");
  if (counts_pods(status)) return true;
  if (const auto* replicas = at(status, "replicaStatuses"); replicas != nullptr && replicas->is_object())
    for (const auto& [type, counts] : replicas->items())
      if (counts_pods(&counts)) return true;
  const auto* conditions = at(status, "conditions");
  if (conditions == nullptr || !conditions->is_array()) return false;
  const auto made = from_rfc3339(text(metadata_of(job), "creationTimestamp"));
  return std::ranges::any_of(*conditions, [made](const Json& condition) { return tells_of_a_run(condition, made); });
}

}  // namespace trainstep::cluster
