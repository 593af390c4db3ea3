// SPDX-License-Identifier: Apache-2.0
#include "local/environment.h"

#include <string>

#include "local/ports.h"
#include "plans.h"
#include "support/catch.h"

namespace trainstep::local {
namespace {

const HostEnvironment here{{{"PATH", "/usr/bin"}, {"HOME", "/home/me"}}, "/run/bin", "/venv/bin", 8};

job_types::Address fixed(const std::string& type, int index) { return {"127.0.0.1", (type == "PS" ? 700 : type == "Chief" ? 800 : 900) + index}; }

// The value, or "-" when it is not set.
std::string value(const process::Variables& variables, const std::string& name) {
  const auto* found = process::find_variable(variables, name);
  return found == nullptr ? "-" : *found;
}

process::Variables of(const plan::Plan& plan, std::size_t member, const HostEnvironment& host = here) {
  return member_environment(plan, gang(plan).at(member), {}, fixed, "", host);
}

TEST_CASE("variables of the step and of another distributed run do not reach the gang") {
  auto host = here;
  host.own.insert(host.own.end(), {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                                   {"ARGO_PROGRESS_FILE", "/var/run/argo/progress"},
                                   {"RANK", "7"},
                                   {"TF_CONFIG", "{}"},
                                   {"OMPI_COMM_WORLD_RANK", "3"},
                                   {"OMPI_MCA_btl", "self,tcp"}});
  const auto environment = of(shell_plan("true"), 0, host);
  for (const auto* name : {"KUBERNETES_SERVICE_HOST", "ARGO_PROGRESS_FILE", "RANK", "TF_CONFIG", "OMPI_COMM_WORLD_RANK"}) {
    CAPTURE(name);
    CHECK(value(environment, name) == "-");
  }
  CHECK(value(environment, "OMPI_MCA_btl") == "self,tcp");
  CHECK(value(environment, "HOME") == "/home/me");
}

TEST_CASE("the chosen interpreter comes first on the PATH") {
  CHECK(value(of(shell_plan("true"), 0), "PATH") == "/run/bin:/venv/bin:/usr/bin");
  CHECK(value(of(shell_plan("true"), 0, {{}, "/run/bin", {}, 1}), "PATH") == "/run/bin:/usr/local/bin:/usr/bin:/bin");
}

TEST_CASE("PyTorch's ranks find the master by loopback") {
  const auto plan = shell_plan("true", {{"distribution_type", "PyTorch"}, {"number_of_workers", 2}});
  const auto worker = of(plan, 1);
  CHECK(value(worker, "MASTER_ADDR") == "127.0.0.1");
  CHECK(value(worker, "MASTER_PORT") == "900");
  CHECK(value(worker, "RANK") == "1");
  CHECK(value(worker, "WORLD_SIZE") == "2");
  CHECK(value(worker, "LOCAL_RANK") == "-");
  CHECK(value(worker, "PET_NPROC_PER_NODE") == "1");
  CHECK(value(worker, "OMP_NUM_THREADS") == "4");
  CHECK(value(worker, "PYTHONUNBUFFERED") == "1");
}

TEST_CASE("processes that we start ourselves are ranks of their own") {
  const auto plan = shell_plan("true", {{"distribution_type", "PyTorch"}, {"number_of_workers", 2}, {"processes_per_worker", 2}});
  std::string ranks;
  for (std::size_t member = 0; member < 4; ++member) {
    const auto environment = of(plan, member);
    ranks += value(environment, "RANK") + "/" + value(environment, "WORLD_SIZE") + " " + value(environment, "LOCAL_RANK") + "/" +
             value(environment, "LOCAL_WORLD_SIZE") + "; ";
  }
  CHECK(ranks == "0/4 0/2; 1/4 1/2; 2/4 0/2; 3/4 1/2; ");
}

TEST_CASE("TF_CONFIG has a port for each task") {
  const auto plan = shell_plan("true", {{"distribution_type", "TF"}, {"number_of_workers", 2}, {"number_of_parameter_servers", 1}});
  CHECK(value(of(plan, 2), "TF_CONFIG") ==
        R"({"cluster":{"chief":["127.0.0.1:800"],"ps":["127.0.0.1:700"],"worker":["127.0.0.1:900","127.0.0.1:901"]},)"
        R"("task":{"type":"worker","index":1},"environment":"cloud"})");
}

TEST_CASE("the operator's value wins over the user's, the user's over ours") {
  const auto plan = shell_plan("true", {{"distribution_type", "PyTorch"}, {"number_of_workers", 2}},
                               {{"environment", {{"WORLD_SIZE", "99"}, {"OMP_NUM_THREADS", 3}, {"MINE", "yes"}}}});
  const auto environment = of(plan, 0);
  CHECK(value(environment, "WORLD_SIZE") == "2");
  CHECK(value(environment, "OMP_NUM_THREADS") == "3");
  CHECK(value(environment, "MINE") == "yes");
}

TEST_CASE("a TMPDIR that is passed on does not replace the run's own, one of job_options does") {
  plan::Request request;
  request.train_specification = R"({"image": "any", "command": ["true"]})";
  request.environment = {{"TMPDIR", "/mine"}, {"WANDB_MODE", "offline"}};
  auto host = here;
  host.own.emplace_back("TMPDIR", "/tmp/trainstep-1");
  CHECK(value(of(make_plan(request), 0, host), "TMPDIR") == "/tmp/trainstep-1");
  CHECK(value(of(make_plan(request), 0, host), "WANDB_MODE") == "offline");
  request.job_options = {{"environment", {{"TMPDIR", "/chosen"}}}};
  CHECK(value(of(make_plan(request), 0, host), "TMPDIR") == "/chosen");
}

TEST_CASE("values that only a cluster has are taken from the environment or omitted, and reported once") {
  const auto plan = shell_plan("true", {{"distribution_type", "PyTorch"}, {"number_of_workers", 3}},
                               {{"environment", {{"TOKEN", {{"secret", "s"}, {"key", "k"}}}, {"OTHER", {{"config_map", "c"}, {"key", "k"}}}}}});
  auto host = here;
  host.own.emplace_back("TOKEN", "mine");
  CHECK(value(of(plan, 0, host), "TOKEN") == "mine");
  CHECK(value(of(plan, 0, host), "OTHER") == "-");
  const auto warnings = environment_warnings(plan, host.own);
  REQUIRE(warnings.size() == 2);
  CHECK_THAT(warnings[0], Catch::Contains("TOKEN") && Catch::Contains("using the value of this environment"));
  CHECK_THAT(warnings[1], Catch::Contains("OTHER") && Catch::Contains("not set"));
}

TEST_CASE("a replica keeps its port until the ports are renewed, no two share one") {
  Ports ports;
  const auto first = ports.address("Worker", 0);
  CHECK(first.host == "127.0.0.1");
  CHECK(ports.address("Worker", 0).port == first.port);
  CHECK(ports.address("Worker", 1).port != first.port);
  CHECK(ports.address("PS", 0).port != first.port);
  ports.renew();
  CHECK(ports.address("Worker", 0).port != first.port);
}

}  // namespace
}  // namespace trainstep::local
