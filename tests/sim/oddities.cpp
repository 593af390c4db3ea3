// SPDX-License-Identifier: Apache-2.0
#include "sim/oddities.h"

#include <algorithm>
#include <utility>

#include "sim/operators.h"

namespace trainstep::sim {
namespace {

Duration clock_error(Random& random) {
  return random.chance(0.5) ? random.between(Duration{-5'000}, Duration{5'000}) : random.between(Duration{-600'000}, Duration{600'000});
}

Json earlier(const Json& condition, Random& random) {
  auto result = condition;
  result["status"] = text_at(condition, {"status"}) == "True" ? "False" : "True";
  result["reason"] = "Before";
  const auto since = seconds_of(text_at(condition, {"lastTransitionTime"}));
  const auto before = to_rfc3339(Time{std::chrono::seconds(since - random.between(1, 600))});
  for (const auto* key : {"lastTransitionTime", "lastUpdateTime", "lastProbeTime"})
    if (result.contains(key)) result[key] = before;
  return result;
}

// The contrary of an end, a little before or after it.
std::optional<Json> contrary(const Json& condition, Random& random) {
  constexpr std::array<std::pair<const char*, const char*>, 4> ends{
      {{"Succeeded", "Failed"}, {"Complete", "Failed"}, {"Failed", "Succeeded"}, {"Failed", "Complete"}}};
  const bool of_a_job = condition.contains("lastProbeTime");
  for (const auto& [one, other] : ends) {
    if (text_at(condition, {"type"}) != one || text_at(condition, {"status"}) != "True") continue;
    if (std::string_view(one) == "Failed" && of_a_job != (std::string_view(other) == "Complete")) continue;
    auto result = condition;
    result["type"] = other;
    result["reason"] = "Contrary";
    const auto since = seconds_of(text_at(condition, {"lastTransitionTime"}));
    result["lastTransitionTime"] = to_rfc3339(Time{std::chrono::seconds(since + random.between(-5, 5))});
    return result;
  }
  return std::nullopt;
}

}  // namespace

bool Oddities::clocks_differ() const {
  return std::ranges::any_of(node_clocks, [](Duration error) { return error != Duration{0}; });
}

std::string Oddities::describe() const {
  std::string text;
  const auto add = [&text](bool holds, const std::string& what) {
    if (holds) text += what;
  };
  add(behind > 0, ", an API server is behind");
  add(brief > 0, ", watches are brief");
  add(clocks_differ(), ", clocks differ");
  add(held.has_value(), held_for_ever() ? ", a finalizer holds the job for ever" : ", a finalizer holds the job");
  add(strange_status, contradicts ? ", the status contradicts itself" : ", the status is strange");
  add(no_log > 0, ", logs are not served at times");
  return text;
}

Oddities draw_oddities(Random& random) {
  Oddities odd;
  if (random.chance(0.2)) {
    odd.behind = random.pick({0.1, 0.5});
    odd.list_lag = random.between(Duration{100}, Duration{4'000});
    odd.get_lag = random.between(Duration{10}, Duration{450});
    odd.watch_lag = random.between(Duration{100}, Duration{3'000});
  }
  if (random.chance(0.2)) odd.brief = random.pick({0.3, 0.9});
  if (random.chance(0.15)) {
    for (auto& error : odd.node_clocks) error = clock_error(random);
    odd.controllers_clock = clock_error(random);
  }
  if (random.chance(0.12)) odd.held = random.chance(0.3) ? Duration::max() : random.between(Duration{5'000}, Duration{900'000});
  odd.strange_status = random.chance(0.15);
  odd.contradicts = odd.strange_status && random.chance(0.3);
  if (random.chance(0.15)) odd.no_log = random.pick({0.1, 0.4});
  return odd;
}

void make_strange(Json& job, Random random, bool both) {
  if (!job.contains("status")) return;
  auto& status = job["status"];
  if (status.contains("startTime"))
    status["startTime"] = to_rfc3339(Time{std::chrono::seconds(seconds_of(text_at(status, {"startTime"})) - random.between(0, 600))});
  if (random.chance(0.5)) {  // all but those that have succeeded: without them a success is none
    for (const auto* count : {"active", "ready", "failed", "terminating"}) status.erase(count);
    if (status.contains("replicaStatuses"))
      for (auto& type : status["replicaStatuses"])
        for (const auto* count : {"active", "failed"}) type.erase(count);
  }
  if (!status.contains("conditions")) return;
  std::vector<Json> conditions;
  for (const auto& condition : std::as_const(status)["conditions"]) {
    conditions.push_back(condition);
    if (random.chance(0.5)) conditions.push_back(earlier(condition, random));
    if (auto other = both ? contrary(condition, random) : std::nullopt) conditions.push_back(std::move(*other));
  }
  conditions.push_back({{"type", "example.com/Checked"}, {"status", "True"}});
  conditions.push_back({{"type", "Progressing"}});
  for (auto left = conditions.size(); left > 1; --left)
    std::swap(conditions[left - 1], conditions[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(left) - 1))]);
  status["conditions"] = std::move(conditions);
}

}  // namespace trainstep::sim
