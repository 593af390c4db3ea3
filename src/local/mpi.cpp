// SPDX-License-Identifier: Apache-2.0
#include "local/mpi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "local/shell.h"

namespace trainstep::local {
namespace {

constexpr std::string_view hostfile_in_cluster = "/etc/mpi/hostfile";

bool names(const std::vector<std::string>& arguments, std::string_view word) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const auto& argument) { return argument.find(word) != std::string::npos; });
}

// Variables of a batch system's allocation, whose slots and other nodes must not be used here, and those of an enclosing mpirun.
bool is_of_an_allocation(std::string_view name) {
  constexpr std::array<std::string_view, 8> prefixes{"SLURM_",       "PBS_",          "LSB_",           "PE_HOSTFILE",
                                                     "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_MCA_orte_", "PRTE_MCA_"};
  constexpr std::array<std::string_view, 3> of_the_kind{"OMPI_MCA_orte_keep_fqdn_hostnames", "OMPI_MCA_orte_default_hostfile",
                                                        "OMPI_MCA_orte_set_default_slots"};
  return std::ranges::find(of_the_kind, name) == of_the_kind.end() &&
         std::ranges::any_of(prefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

// Ranks share the machine and have threads of their own: they must not be bound to one core each.
void add_open_mpi(std::vector<std::string>& words, const plan::Plan& plan, const MpiFiles& files, bool crowded) {
  words.insert(words.end(), {"--hostfile", files.hostfile.string()});
  if (!names(plan.distribution.mpirun_arguments, "bind-to")) words.insert(words.end(), {"--bind-to", "none"});
  if (crowded && !names(plan.distribution.mpirun_arguments, "oversubscribe")) words.emplace_back("--oversubscribe");
}

}  // namespace

std::optional<MpiFlavour> mpi_flavour(std::string_view version) {
  if (version.find("Open MPI") != std::string_view::npos || version.find("OpenRTE") != std::string_view::npos) return MpiFlavour::open_mpi;
  if (version.find("Intel(R) MPI") != std::string_view::npos) return MpiFlavour::intel;
  if (version.find("HYDRA") != std::string_view::npos || version.find("MPICH") != std::string_view::npos) return MpiFlavour::mpich;
  return std::nullopt;
}

MpiFiles mpi_files(const std::filesystem::path& folder, int ranks) {
  MpiFiles files{folder / "hostfile", folder / "rank.sh", {}, {}, {}};
  for (int rank = 0; rank < ranks; ++rank) {
    files.scripts.push_back(folder / fmt::format("rank-{}.sh", rank));
    files.out.push_back(folder / fmt::format("rank-{}.out", rank));
    files.err.push_back(folder / fmt::format("rank-{}.err", rank));
  }
  return files;
}

std::string hostfile_text(MpiFlavour flavour, int ranks) {
  return fmt::format("localhost{}{}\n", flavour == MpiFlavour::open_mpi ? " slots=" : ":", ranks);
}

std::string dispatcher_text(const std::filesystem::path& folder) {
  return fmt::format("rank=${{OMPI_COMM_WORLD_RANK:-${{PMIX_RANK:-$PMI_RANK}}}}\nexec /bin/sh {}/rank-\"$rank\".sh\n", shell_quoted(folder.string()));
}

std::string rank_script_text(const RankCommand& rank, const std::filesystem::path& out, const std::filesystem::path& err) {
  std::string text = fmt::format("cd {} || exit 126\nexec </dev/null >{} 2>{}\n", shell_quoted(rank.folder.string()), shell_quoted(out.string()),
                                 shell_quoted(err.string()));
  text += "exec env";  // env also accepts names that are invalid in a shell
  for (const auto& [name, value] : rank.variables) text += " " + shell_quoted(fmt::format("{}={}", name, value));
  return text + " " + shell_quoted(rank.argv) + "\n";
}

std::vector<std::string> mpirun_command(const plan::Plan& plan, MpiFlavour flavour, const MpiFiles& files, int cores) {
  const auto ranks = files.scripts.size();
  std::vector<std::string> words{"mpirun"};
  if (flavour == MpiFlavour::open_mpi) add_open_mpi(words, plan, files, ranks > static_cast<std::size_t>(cores));
  if (flavour == MpiFlavour::mpich) words.insert(words.end(), {"-launcher", "fork"});  // also inside a batch system's allocation
  if (flavour == MpiFlavour::intel) words.insert(words.end(), {"-bootstrap", "fork"});
  words.insert(words.end(), plan.distribution.mpirun_arguments.begin(), plan.distribution.mpirun_arguments.end());
  words.insert(words.end(), {"-np", std::to_string(ranks), "/bin/sh", files.dispatcher.string()});
  return words;
}

void adapt_launcher_environment(process::Variables& variables, const MpiFiles& files, int ranks, int cores) {
  std::erase_if(variables, [](const auto& variable) {
    return variable.first == "NVIDIA_VISIBLE_DEVICES" || variable.first == "NVIDIA_DRIVER_CAPABILITIES" || is_of_an_allocation(variable.first);
  });
  for (auto& [name, value] : variables)
    if (value == hostfile_in_cluster) value = files.hostfile.string();
  for (const auto* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"})
    process::set_variable(variables, name, "1");
  // Open MPI counts slots, not cores: with as many slots as ranks it would let idle ranks busy-wait for each other.
  if (ranks > cores) process::set_variable(variables, "OMPI_MCA_mpi_yield_when_idle", "1");
}

}  // namespace trainstep::local
