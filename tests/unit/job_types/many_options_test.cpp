// Options of many members: time grows with their number, not with its square.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "data/tree.h"
#include "job_types/pod_template.h"
#include "plan/plan.h"
#include "support/catch.h"
#include "support/cpu_time.h"
#include "unit/job_types/example.h"

using namespace trainstep;
using namespace trainstep::job_types;

namespace {

Json members(std::size_t count, const std::string& prefix, const Json& value) {
  std::vector<std::pair<std::string, Json>> all;
  for (std::size_t i = 0; i < count; ++i) all.emplace_back(fmt::format("{}{}", prefix, i), value);
  return make_object(std::move(all));
}

Json items(std::size_t count, Json (*item)(std::size_t)) {
  auto list = Json::array();
  for (std::size_t i = 0; i < count; ++i) list.push_back(item(i));
  return list;
}

Json many(const std::string& key, std::size_t count) {
  if (key == "volumes") return items(count, [](std::size_t i) { return Json{{"mount_path", fmt::format("/d/{}", i)}, {"claim", "c"}}; });
  if (key == "named volumes")
    return items(count, [](std::size_t i) { return Json{{"name", fmt::format("v{}", i)}, {"mount_path", fmt::format("/d/{}", i)}, {"claim", "c"}}; });
  if (key == "tolerations") return items(count, [](std::size_t i) { return Json{{"key", fmt::format("k{}", i)}, {"operator", "Exists"}}; });
  if (key == "requests") return members(count, "example.com/r", 1);
  return members(count, "k", "x");
}

// The time to plan a job with so many, for all replicas and for one type, and to show its pod.
std::chrono::nanoseconds cost(const std::string& key, std::size_t count) {
  const auto option = key.substr(key.find(' ') == std::string::npos ? 0 : key.find(' ') + 1);
  plan::Request request;
  request.train_specification = R"({"image": "a", "command": ["b"]})";
  request.job_options = {{option, many(key, count)}};
  if (!request.job_options[option].is_array()) request.job_options["replicas"] = {{"Main", {{option, many(key, count)}}}};
  const auto began = trainstep::test::cpu_time();
  const auto plan = plan::make_plan(request, traits());
  if (!plan) FAIL(plan.error().message);
  const PodShape shape{.type = "Main",
                       .container = {"train", "default"},
                       .command = {{"b", ""}},
                       .resources = plan->worker,
                       .environment = environment_of(*plan, "Main", {})};
  const auto pod = pod_template(*plan, shape);
  CHECK(to_yaml_explained(pod).size() > count);
  return trainstep::test::cpu_time() - began;
}

}  // namespace

TEST_CASE("options of many members take time in proportion to their number") {
  using namespace std::chrono_literals;
  constexpr std::size_t few = 3'000;
  for (const auto* key : {"volumes", "named volumes", "tolerations", "environment", "labels", "annotations", "node_selector", "requests"}) {
    INFO(key);
    // Four times as many take four times as long; quadratic time would be sixteen times as long.
    CHECK(cost(key, 4 * few) < 7 * cost(key, few) + 20ms);
  }
}
