// MPI on one machine: the machine's mpirun; each rank has its own command line, folder and output. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "process/child.h"

namespace trainstep::local {

enum class MpiFlavour { open_mpi, mpich, intel };

// Parses the output of `mpirun --version`.
std::optional<MpiFlavour> mpi_flavour(std::string_view version);

// The files in the launcher's folder.
struct MpiFiles {
  std::filesystem::path hostfile;
  std::filesystem::path dispatcher;             // what mpirun starts as every rank: it executes the script of its rank
  std::vector<std::filesystem::path> scripts;   // by rank
  std::vector<std::filesystem::path> out, err;  // FIFOs by rank
};
MpiFiles mpi_files(const std::filesystem::path& folder, int ranks);

// The contents of MpiFiles::hostfile and ::dispatcher.
std::string hostfile_text(MpiFlavour flavour, int ranks);
std::string dispatcher_text(const std::filesystem::path& folder);

// Changes to `folder`, opens its own output, sets `variables` and executes `argv`: so lines of different ranks are never mixed, and each line can be
// attributed to its rank.
struct RankCommand {
  std::filesystem::path folder;
  process::Variables variables;
  std::vector<std::string> argv;
};
std::string rank_script_text(const RankCommand& rank, const std::filesystem::path& out, const std::filesystem::path& err);

// mpirun with the options needed on one machine, the user's options (distribution_specification.mpirun_arguments), and the dispatcher.
std::vector<std::string> mpirun_command(const plan::Plan& plan, MpiFlavour flavour, const MpiFiles& files, int cores);

// Makes the operator's variables for mpirun name this machine's hostfile, and sets what mpirun needs to run here.
void adapt_launcher_environment(process::Variables& variables, const MpiFiles& files, int ranks, int cores);

}  // namespace trainstep::local
