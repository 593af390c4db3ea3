// What the operators inject, compared with what their sources make (docs/design/operators.md, Environment).
// SPDX-License-Identifier: Apache-2.0
#include "unit/job_types/example.h"

using namespace trainstep;
using namespace trainstep::job_types;
using namespace trainstep::job_types::test;

namespace {

Variables environment(const plan::Plan& plan, const std::string& type, int index, int port = 23456) {
  const auto addresses = [&](const std::string& of, int number) { return cluster_address(plan, of, number, port); };
  return find(plan.job_type).environment(plan, addresses, type, index);
}

}  // namespace

TEST_CASE("PyTorch: addresses of the master, world size in processes, rank in nodes") {
  auto plan = example("PyTorch", 3);
  plan.processes_per_worker = 2;
  const Variables worker_1 = {{"PYTHONUNBUFFERED", "1"},
                              {"MASTER_PORT", "23456"},
                              {"PET_MASTER_PORT", "23456"},
                              {"MASTER_ADDR", "digits-0123456789-master-0"},
                              {"PET_MASTER_ADDR", "digits-0123456789-master-0"},
                              {"WORLD_SIZE", "6"},
                              {"RANK", "2"},
                              {"PET_NODE_RANK", "2"},
                              {"PET_NPROC_PER_NODE", "2"},
                              {"PET_NNODES", "3"}};
  CHECK(environment(plan, "Worker", 1) == worker_1);
  auto master = worker_1;
  master[6].second = master[7].second = "0";
  CHECK(environment(plan, "Master", 0) == master);
}

TEST_CASE("elastic PyTorch: a meeting point and a range instead of ranks") {
  auto plan = example("PyTorch", 3);
  plan.distribution.elastic = {2, 4, 5};
  const Variables worker = {{"PYTHONUNBUFFERED", "1"},    {"PET_NPROC_PER_NODE", "1"}, {"PET_RDZV_ENDPOINT", "digits-0123456789-worker-0:23456"},
                            {"PET_RDZV_BACKEND", "c10d"}, {"PET_NNODES", "2:4"},       {"PET_MAX_RESTARTS", "5"}};
  CHECK(environment(plan, "Worker", 0) == worker);
  CHECK(environment(plan, "Worker", 2) == worker);
  plan.distribution.elastic->max_restarts.reset();
  CHECK(environment(plan, "Worker", 0) == Variables(worker.begin(), worker.end() - 1));
}

TEST_CASE("TF: TF_CONFIG with all types sorted, the task and the environment") {
  auto plan = example("TF", 2);
  plan.distribution.parameter_servers = 1;
  const std::string cluster = R"("cluster":{"chief":["digits-0123456789-chief-0:2222"],"ps":["digits-0123456789-ps-0:2222"],)"
                              R"("worker":["digits-0123456789-worker-0:2222","digits-0123456789-worker-1:2222"]})";
  CHECK(environment(plan, "Worker", 1, 2222) ==
        Variables{{"TF_CONFIG", "{" + cluster + R"(,"task":{"type":"worker","index":1},"environment":"cloud"})"}});
  CHECK(environment(plan, "PS", 0, 2222) == Variables{{"TF_CONFIG", "{" + cluster + R"(,"task":{"type":"ps","index":0},"environment":"cloud"})"}});
  CHECK(environment(plan, "Chief", 0, 2222) ==
        Variables{{"TF_CONFIG", "{" + cluster + R"(,"task":{"type":"chief","index":0},"environment":"cloud"})"}});
}

TEST_CASE("TF without parameter servers knows workers only, and one worker alone gets nothing") {
  auto plan = example("TF", 2);
  plan.distribution.parameter_servers = 0;
  CHECK(environment(plan, "Worker", 0, 2222) ==
        Variables{{"TF_CONFIG", R"({"cluster":{"worker":["digits-0123456789-worker-0:2222","digits-0123456789-worker-1:2222"]},)"
                                R"("task":{"type":"worker","index":0},"environment":"cloud"})"}});
  plan.distribution.workers = 1;
  CHECK(environment(plan, "Worker", 0).empty());
}

TEST_CASE("MPI: the launcher's variables depend on the implementation, the workers have their role") {
  auto plan = example("MPI", 2);
  plan.slots_per_worker = 4;
  const std::pair<std::string, Variables> cases[] = {
      {"OpenMPI",
       {{"OMPI_MCA_orte_keep_fqdn_hostnames", "true"},
        {"OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"},
        {"OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10"},
        {"OMPI_MCA_orte_set_default_slots", "4"}}},
      {"Intel",
       {{"I_MPI_HYDRA_HOST_FILE", "/etc/mpi/hostfile"},
        {"I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "-o ConnectionAttempts=10"},
        {"I_MPI_PERHOST", "4"}}},
      {"MPICH", {{"HYDRA_HOST_FILE", "/etc/mpi/hostfile"}, {"HYDRA_LAUNCH_EXTRA_ARGS", "-o ConnectionAttempts=10"}}},
  };
  for (const auto& [implementation, own] : cases) {
    CAPTURE(implementation);
    plan.distribution.mpi_implementation = implementation;
    Variables launcher{{"K_MPI_JOB_ROLE", "launcher"}};
    launcher.insert(launcher.end(), own.begin(), own.end());
    launcher.insert(launcher.end(), {{"NVIDIA_VISIBLE_DEVICES", ""}, {"NVIDIA_DRIVER_CAPABILITIES", ""}});
    CHECK(environment(plan, "Launcher", 0) == launcher);
    CHECK(environment(plan, "Worker", 1) == Variables{{"K_MPI_JOB_ROLE", "worker"}});
  }
}

TEST_CASE("Job: nothing, or the index") {
  auto plan = example("Job", 1);
  CHECK(environment(plan, "Main", 0).empty());
  plan.distribution.indexed = true;
  plan.distribution.workers = 3;
  CHECK(environment(plan, "Worker", 2) == Variables{{"JOB_COMPLETION_INDEX", "2"}});
}
