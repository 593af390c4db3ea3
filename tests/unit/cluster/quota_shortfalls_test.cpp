#include "cluster/quota_shortfalls.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::cluster;
using Catch::Matchers::Equals;

namespace {

job_types::Replicas replicas(const std::string& type, int count, const char* cpus, int gpus = 0) {
  job_types::Replicas made;
  made.type = type;
  made.count = count;
  made.resources.cpus = plan::Sourced<plan::Quantity>{*plan::parse_quantity(cpus, "cpus"), "test"};
  made.resources.gpus.value = gpus;
  return made;
}

Json quota(const Json& hard, const Json& used) {
  return {{"items", Json::array({{{"metadata", {{"name", "team"}}}, {"status", {{"hard", hard}, {"used", used}}}}})}};
}

}  // namespace

TEST_CASE("a quota lacks room for what all replicas need together") {
  const std::vector<job_types::Replicas> job{replicas("Master", 1, "500m"), replicas("Worker", 3, "2", 1)};
  struct Row {
    Json hard, used;
    std::vector<std::string> lacking;
  };
  for (const auto& row : {
           Row{{{"pods", "4"}}, Json::object(), {}},
           Row{{{"pods", "4"}}, {{"pods", "1"}}, {"quota team: pods: requested 4, 3 of 4 left"}},
           Row{{{"requests.cpu", "6500m"}, {"cpu", "6"}}, Json::object(), {"quota team: cpu: requested 6.5, 6 of 6 left"}},
           Row{{{"requests.nvidia.com/gpu", "2"}}, Json::object(), {"quota team: requests.nvidia.com/gpu: requested 3, 2 of 2 left"}},
           Row{{{"requests.memory", "1Gi"}}, Json::object(), {}},  // none is asked for
           Row{{{"pods", "many"}}, Json::object(), {}},
       })
    CHECK_THAT(quota_shortfalls(quota(row.hard, row.used), job, "nvidia.com/gpu"), Equals(row.lacking));
}

TEST_CASE("GPUs are counted under their own name") {
  const auto amd = quota({{"requests.amd.com/gpu", "2"}, {"requests.nvidia.com/gpu", "0"}}, Json::object());
  CHECK_THAT(quota_shortfalls(amd, {replicas("Worker", 3, "2", 1)}, "amd.com/gpu"),
             Equals(std::vector<std::string>{"quota team: requests.amd.com/gpu: requested 3, 2 of 2 left"}));
}

TEST_CASE("a malformed list of quotas has no shortfalls") {
  for (const auto& odd : {Json(), Json::array(), Json{{"items", 7}}, Json{{"items", Json::array({1, "x"})}}})
    CHECK(quota_shortfalls(odd, {}, "nvidia.com/gpu").empty());
}
