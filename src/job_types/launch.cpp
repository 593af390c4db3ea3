// SPDX-License-Identifier: Apache-2.0
#include "job_types/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "plan/command.h"
#include "plan/value_text.h"

namespace trainstep::job_types {
namespace {

void add(Arguments& words, std::initializer_list<std::string> texts, const std::string& source) {
  for (const auto& text : texts) words.push_back({text, source});
}

std::string count_source(const plan::Plan& plan, bool given, std::string_view key, std::string_view otherwise) {
  if (given) return fmt::format("distribution_specification.{}", key);
  return plan.worker.gpus.value > 0 ? fmt::format("{}: {}", plan.worker.gpus.source, otherwise) : "default";
}

std::string np_source(const plan::Plan& plan) {
  const auto workers = plan.distribution.workers_given ? "distribution_specification.number_of_workers" : "default";
  const auto processes = count_source(plan, plan.distribution.processes_per_worker.has_value(), "processes_per_worker", "one process for each GPU");
  return fmt::format("{} × {}", workers, processes);
}

// mpirun fills a host's slots before it uses the next host: with fewer processes than slots, ranks would be distributed unevenly.
bool spread_evenly(const plan::Plan& plan) { return plan.processes_per_worker < plan.slots_per_worker; }

bool names(const std::vector<std::string>& arguments, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return std::ranges::any_of(parts, [&](std::string_view part) { return argument.find(part) != std::string::npos; });
  });
}

// A rank has its own threads, and its pod shares the node with others: if it was bound to a core, mpirun's default, all threads would share that
// core. mpirun rejects a second mapping.
void add_placement(Arguments& words, const plan::Plan& plan) {
  const auto& own = plan.distribution.mpirun_arguments;
  if (!names(own, {"bind-to", "hwloc_base_binding_policy"}))
    add(words, {"--bind-to", "none"}, "default: a rank and its threads are not bound to a core");
  if (spread_evenly(plan))
    add(words, {"--map-by", fmt::format("ppr:{}:node", plan.processes_per_worker)}, "distribution_specification.slots_per_worker");
  else if (!names(own, {"map-by", "pernode", "bynode", "byslot", "-N", "rankfile", "rmaps"}))
    add(words, {"--map-by", "slot"}, "default: consecutive ranks are neighbours");
}

void add_open_mpi(Arguments& words, const plan::Plan& plan, const MpiPlace& place) {
  add(words, {"--allow-run-as-root"}, "default: containers usually run as root, which mpirun refuses");
  add(words, {"--hostfile", place.hostfile}, "default: Open MPI 5 ignores the operator's OMPI_MCA_orte_default_hostfile");
  add_placement(words, plan);
  for (const auto& name : place.forwarded) add(words, {"-x", name}, "default: ranks on other hosts do not inherit mpirun's environment");
}

void add_hydra(Arguments& words, const plan::Plan& plan, const MpiPlace& place) {
  add(words, {"-f", place.hostfile}, "default: the hosts of the workers");
  if (spread_evenly(plan)) add(words, {"-ppn", std::to_string(plan.processes_per_worker)}, "distribution_specification.slots_per_worker");
  add(words, {"-genvall"}, "default: the ranks get mpirun's environment");
}

// The arguments that are literal in the specification, without placeholders.
void collect_texts(const std::vector<spec::Argument>& arguments, std::set<std::string>& texts) {
  for (const auto& argument : arguments) {
    if (argument.kind == spec::Argument::Kind::text) texts.insert(argument.text);
    if (argument.kind == spec::Argument::Kind::concat) continue;
    collect_texts(argument.parts, texts);
    collect_texts(argument.otherwise, texts);
  }
}

// The values of inputs that are not given, as the command line has them, and the inputs' names. None that a given value shares.
std::map<std::string, std::string> default_texts(const plan::Plan& plan) {
  std::map<std::string, std::string> names;
  for (const auto& input : plan.binding.inputs)
    if (input.value && !input.given) names.emplace(plan::value_text(*input.value, plan.program.dialect), input.name);
  for (const auto& input : plan.binding.inputs)
    if (input.value && input.given) names.erase(plan::value_text(*input.value, plan.program.dialect));
  return names;
}

}  // namespace

Result<Arguments> program_arguments(const plan::Plan& plan, const plan::Placement& placement) {
  ASSIGN(const auto argv, plan::command_line(plan.program, plan.binding, placement));
  std::set<std::string> literal;
  collect_texts(plan.program.command, literal);
  collect_texts(plan.program.args, literal);
  const auto defaults = default_texts(plan);
  Arguments words;
  for (const auto& word : argv) {
    const auto found = defaults.find(word);
    words.push_back({word, literal.contains(word) || plan.program.source != "train_specification" ? plan.program.source
                           : found != defaults.end() ? fmt::format("default: {} in train_specification", found->second)
                                                     : "train_specification, filled in from train_parameters"});
  }
  return words;
}

Arguments torchrun_arguments(const plan::Plan& plan, Arguments program) {
  const bool own_rank = plan.processes_per_worker == 1 && !plan.distribution.elastic;
  if (own_rank || plan::starts_own_ranks(plan.program)) return program;
  const std::string why = plan.distribution.elastic
                              ? "distribution_specification.elastic: torchrun finds the other workers and restarts without the lost ones"
                              : "default: torchrun starts the processes of a pod";
  Arguments words;
  add(words, {"torchrun", "--no_python"}, why);
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

Arguments mpirun_arguments(const plan::Plan& plan, const MpiPlace& place, Arguments program) {
  if (plan::starts_own_ranks(plan.program)) return program;
  Arguments words;
  add(words, {"mpirun"}, "distribution_specification.distribution_type");
  add(words, {"-np", std::to_string(plan.distribution.workers * plan.processes_per_worker)}, np_source(plan));
  if (plan.distribution.mpi_implementation == "OpenMPI")
    add_open_mpi(words, plan, place);
  else
    add_hydra(words, plan, place);
  for (const auto& argument : plan.distribution.mpirun_arguments) words.push_back({argument, "distribution_specification.mpirun_arguments"});
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

std::vector<std::string> texts(const Arguments& words) {
  std::vector<std::string> result;
  for (const auto& word : words) result.push_back(word.value);
  return result;
}

}  // namespace trainstep::job_types
