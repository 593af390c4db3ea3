// SPDX-License-Identifier: Apache-2.0
#include "local/mpi.h"

#include <string>
#include <vector>

#include "local/shell.h"
#include "plans.h"
#include "support/catch.h"

namespace trainstep::local {
namespace {

using Words = std::vector<std::string>;

plan::Plan mpi_plan(int workers, const Json& arguments = Json::array()) {
  return shell_plan("true", {{"distribution_type", "MPI"}, {"number_of_workers", workers}, {"mpirun_arguments", arguments}});
}

TEST_CASE("mpirun's version output identifies the implementation") {
  CHECK(mpi_flavour("mpirun (Open MPI) 4.1.4\n") == MpiFlavour::open_mpi);
  CHECK(mpi_flavour("mpirun (Open MPI) 5.0.7\n") == MpiFlavour::open_mpi);
  CHECK(mpi_flavour("HYDRA build details:\n    Version: 4.0.2\n") == MpiFlavour::mpich);
  CHECK(mpi_flavour("Intel(R) MPI Library for Linux* OS, Version 2021.11\n") == MpiFlavour::intel);
  CHECK(mpi_flavour("mpirun: command of another sort") == std::nullopt);
}

TEST_CASE("Open MPI runs all ranks here, unbound, and may have more of them than cores") {
  const auto files = mpi_files("/run/launcher", 3);
  CHECK(mpirun_command(mpi_plan(3), MpiFlavour::open_mpi, files, 2) == Words{"mpirun", "--hostfile", "/run/launcher/hostfile", "--bind-to", "none",
                                                                             "--oversubscribe", "-np", "3", "/bin/sh", "/run/launcher/rank.sh"});
  CHECK(mpirun_command(mpi_plan(3, {"--bind-to", "core"}), MpiFlavour::open_mpi, files, 4) ==
        Words{"mpirun", "--hostfile", "/run/launcher/hostfile", "--bind-to", "core", "-np", "3", "/bin/sh", "/run/launcher/rank.sh"});
  CHECK(hostfile_text(MpiFlavour::open_mpi, 3) == "localhost slots=3\n");
}

TEST_CASE("as many ranks as cores are not too many: each has its own") {
  const auto files = mpi_files("/run/launcher", 2);
  CHECK(mpirun_command(mpi_plan(2), MpiFlavour::open_mpi, files, 2) ==
        Words{"mpirun", "--hostfile", "/run/launcher/hostfile", "--bind-to", "none", "-np", "2", "/bin/sh", "/run/launcher/rank.sh"});
  process::Variables variables;
  adapt_launcher_environment(variables, files, 2, 2);
  CHECK(process::find_variable(variables, "OMPI_MCA_mpi_yield_when_idle") == nullptr);
}

TEST_CASE("Hydra starts its ranks by fork, whatever batch system it finds itself in") {
  const auto files = mpi_files("/run/launcher", 2);
  CHECK(mpirun_command(mpi_plan(2), MpiFlavour::mpich, files, 2) ==
        Words{"mpirun", "-launcher", "fork", "-np", "2", "/bin/sh", "/run/launcher/rank.sh"});
  CHECK(hostfile_text(MpiFlavour::mpich, 2) == "localhost:2\n");
}

TEST_CASE("a rank's script survives every character of a command line") {
  const RankCommand rank{"/a b", {{"odd-name", "it's"}}, {"python3", "-c", "print('$HOME', \"x\")\nexit(0)", ""}};
  CHECK(rank_script_text(rank, "/a b/out", "/a b/err") ==
        "cd '/a b' || exit 126\nexec </dev/null >'/a b/out' 2>'/a b/err'\n"
        "exec env 'odd-name=it'\\''s' 'python3' '-c' 'print('\\''$HOME'\\'', \"x\")\nexit(0)' ''\n");
}

TEST_CASE("the operator's hostfile becomes this machine's") {
  const auto files = mpi_files("/run/launcher", 3);
  process::Variables variables{
      {"OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"}, {"NVIDIA_VISIBLE_DEVICES", ""}, {"A", "b"}, {"SLURM_TASKS_PER_NODE", "1"},
      {"OMPI_MCA_orte_hnp_uri", "1234.0;tcp://10.0.0.1:5"},    {"OMPI_MCA_btl", "self,tcp"}};
  adapt_launcher_environment(variables, files, 3, 2);
  CHECK(*process::find_variable(variables, "OMPI_MCA_orte_default_hostfile") == "/run/launcher/hostfile");
  for (const auto* name : {"NVIDIA_VISIBLE_DEVICES", "SLURM_TASKS_PER_NODE", "OMPI_MCA_orte_hnp_uri"})
    CHECK(process::find_variable(variables, name) == nullptr);
  CHECK(*process::find_variable(variables, "OMPI_MCA_btl") == "self,tcp");
  CHECK(*process::find_variable(variables, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") == "1");
  CHECK(*process::find_variable(variables, "OMPI_MCA_mpi_yield_when_idle") == "1");
}

}  // namespace
}  // namespace trainstep::local
