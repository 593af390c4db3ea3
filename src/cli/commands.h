// The commands and flags of trainstep for CLI11, and their values for the code that runs them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/exec_command.h"
#include "cli/jobs_command.h"
#include "cli/step_command.h"
#include "step/inputs.h"

namespace trainstep::cli {

// The flags of the interface. Absent and empty differ until step/ has read them.
class InterfaceFlags {
 public:
  void add_to(CLI::App& app);
  [[nodiscard]] step::Flags given(const CLI::App& app) const;

 private:
  void add(CLI::App& app, const std::string& name, const std::string& kind, const std::string& help, const std::string& group,
           const std::string& letter = "");
  std::vector<std::pair<std::string, std::unique_ptr<std::string>>> m_values;
};

struct Commands {
  Commands();

  StepCommand command;
  InterfaceFlags run_flags, render_flags, check_flags;
  CLI::App app{
      "trainstep – the training step of a pipeline.\nRuns a training program, distributed as specified, and succeeds if and only if the training "
      "did.",
      "trainstep"};
  CLI::App* run = app.add_subcommand("run", "Start the training job, follow it until it ends, and return model, metrics and report.");
  CLI::App* render = app.add_subcommand("render", "Print the Kubernetes manifest of the job as YAML; nothing is started.");

  CLI::App* check = app.add_subcommand("check", "Check whether the cluster would accept this step; nothing is created.");

  CLI::App* list = app.add_subcommand("list", "List the jobs created by steps in a namespace.");
  CLI::App* attach =
      app.add_subcommand("attach", "Follow an earlier run to its end and collect its metrics and report; exits with the run's exit code.");
  CLI::App* logs = app.add_subcommand("logs", "Print the log of a replica, following it to its end.");
  CLI::App* stop = app.add_subcommand("stop", "Delete a run's job and wait until its pods are gone.");
  JobsCommand jobs;
  CLI::App* exec = app.add_subcommand("exec", "The agent in a training pod: fetch the inputs, run the program after --, deliver its outputs.");
  ExecCommand exec_command;
  CLI::App* replay = app.add_subcommand("replay", "Replay a recorded run offline; exits with that run's exit code.");
  std::string record;
  CLI::App* completion = app.add_subcommand("completion", "Print the shell completion script.");
  std::string shell;
  std::vector<std::string> words;  // after --: the question of a shell script
  CLI::App* man = app.add_subcommand("man", "Print the manual page.");

 private:
  void add_jobs_flags(CLI::App& to);
  void add_level(CLI::App& to);
  void choose_level(const std::string& word);
  void add_format(CLI::App& to);
  void choose_format(const std::string& word);
  void add_exit_code_file(CLI::App& to);
  void add_exec_flags();
};

}  // namespace trainstep::cli
