#include "cluster/quota_shortfalls.h"

#include <fmt/format.h>

#include "job_types/job_type.h"
#include "plan/plan.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::cluster;
using Catch::Matchers::Equals;

namespace {

plan::Plan plan_of(const std::string& type, int workers, const Json& options = Json::object()) {
  plan::Request request;
  request.run_id = "r";
  request.train_specification = R"({"image": "i", "command": ["t"]})";
  request.distribution_specification = {{"distribution_type", type}, {"number_of_workers", workers}, {"worker_cpus", "2"}, {"worker_gpus", 1}};
  if (type == "TF") request.distribution_specification["number_of_parameter_servers"] = 0;
  request.job_options = options;
  auto plan = plan::make_plan(request, job_types::traits());
  if (!plan) FAIL(plan.error().message);
  return *plan;
}

QuotaNeeds needs_of(const plan::Plan& plan) { return needs_of_pods(plan, job_types::find(plan.job_type).resources.front()); }

Json quota(const Json& hard, const Json& used) {
  return {{"items", Json::array({{{"metadata", {{"name", "team"}}}, {"status", {{"hard", hard}, {"used", used}}}}})}};
}

}  // namespace

TEST_CASE("a quota lacks room for what all replicas need together") {
  const auto job = needs_of(plan_of("PyTorch", 4));
  struct Row {
    Json hard, used;
    std::vector<std::string> lacking;
  };
  for (const auto& row : {
           Row{{{"pods", "4"}}, Json::object(), {}},
           Row{{{"pods", "4"}}, {{"pods", "1"}}, {"quota team: pods: requested 4, 3 of 4 left"}},
           Row{{{"count/pods", "3"}}, Json::object(), {"quota team: count/pods: requested 4, 3 of 3 left"}},
           Row{{{"requests.cpu", "8"}, {"cpu", "7500m"}}, Json::object(), {"quota team: cpu: requested 8, 7.5 of 7.5 left"}},
           Row{{{"requests.nvidia.com/gpu", "3"}}, Json::object(), {"quota team: requests.nvidia.com/gpu: requested 4, 3 of 3 left"}},
           Row{{{"requests.memory", "1Gi"}}, Json::object(), {}},  // none is asked for
           Row{{{"pods", "many"}}, Json::object(), {}},
       })
    CHECK_THAT(quota_shortfalls(quota(row.hard, row.used), job), Equals(row.lacking));
}

TEST_CASE("GPUs are counted under their own name") {
  const auto amd = quota({{"requests.amd.com/gpu", "2"}, {"requests.nvidia.com/gpu", "0"}}, Json::object());
  CHECK_THAT(quota_shortfalls(amd, needs_of(plan_of("PyTorch", 3, {{"gpu_resource", "amd.com/gpu"}}))),
             Equals(std::vector<std::string>{"quota team: requests.amd.com/gpu: requested 3, 2 of 2 left"}));
}

TEST_CASE("objects that the operator creates for a job are counted") {
  struct Row {
    std::string type;
    std::size_t resource;
    std::vector<std::string> counted;
  };
  for (const auto& row : {
           Row{"Job", 0, {}},
           Row{"PyTorch", 0, {"services 2"}},
           Row{"TF", 0, {"services 2"}},
           Row{"MPI", 0, {"configmaps 1", "jobs.batch 1", "secrets 1", "services 1"}},
           Row{"MPI", 1, {"configmaps 1", "rolebindings.rbac.authorization.k8s.io 1", "roles.rbac.authorization.k8s.io 1", "serviceaccounts 1"}},
       }) {
    const auto plan = plan_of(row.type, row.type == "Job" ? 1 : 2);
    const auto needs = needs_of_pods(plan, job_types::find(row.type).resources.at(row.resource));
    std::vector<std::string> counted;
    for (const auto& [name, need] : needs)
      if (name.starts_with("count/") && name != "count/pods") counted.push_back(fmt::format("{} {}", name.substr(6), need));
    CHECK_THAT(counted, Equals(row.counted));
  }
}

TEST_CASE("objects of the core API group are counted by both of their names, others by one") {
  QuotaNeeds needs;
  add_objects(needs, "secrets");
  add_objects(needs, "jobs.batch");
  add_claim(needs, "10Gi");
  const auto full =
      quota({{"secrets", "3"}, {"count/secrets", "3"}, {"count/jobs.batch", "1"}, {"persistentvolumeclaims", "0"}, {"requests.storage", "8"}},
            {{"secrets", "3"}, {"count/secrets", "3"}, {"count/jobs.batch", "1"}});
  CHECK_THAT(quota_shortfalls(full, needs),
             Equals(std::vector<std::string>{
                 "quota team: count/jobs.batch: requested 1, 0 of 1 left", "quota team: count/secrets: requested 1, 0 of 3 left",
                 "quota team: persistentvolumeclaims: requested 1, 0 of 0 left", "quota team: requests.storage: requested 10737418240, 8 of 8 left",
                 "quota team: secrets: requested 1, 0 of 3 left"}));
}

TEST_CASE("a malformed list of quotas has no shortfalls") {
  for (const auto& odd : {Json(), Json::array(), Json{{"items", 7}}, Json{{"items", Json::array({1, "x"})}}})
    CHECK(quota_shortfalls(odd, needs_of(plan_of("PyTorch", 2))).empty());
}
