// Common to `run` and `render`: the inputs of a step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "log/level.h"
#include "plan/plan.h"
#include "run/listener.h"
#include "step/inputs.h"

namespace trainstep::cli {

struct StepCommand {
  step::Flags flags;                                // every given flag of the interface, and words that belong to none
  std::vector<std::string> flag_names;              // all flags of the command, without dashes
  std::optional<std::vector<std::string>> program;  // the words after --; nullopt: no --
  std::string cluster;                              // run: "local", "kubernetes"; empty: not given
  std::string context;                              // run: of the kubeconfig; empty: the current one
  std::string python;                               // run
  std::string run_dir;                              // run
  std::string record;                               // run: a file for the events; empty: none
  std::string exit_code_file;                       // already open (exit_code_file.h); empty: none
  std::string termination_log;                      // run: of this container (termination_log.h); empty: none
  log::Options log_options;
  bool python_json = false;  // run
  bool explain = false;      // render
  std::string api_version;   // render: "kubeflow.org/v1"; empty: the preferred one
};

// Reads the flags and the context of this process.
Result<step::Inputs> read_inputs(const StepCommand& command);
// Before anything is printed about the plan: adds its secrets to those of the inputs, and keeps them out of all output from now on (conceal()).
void conceal_all(step::Inputs& inputs, const plan::Plan& plan);
// Adds texts that became known later, from a Secret, and keeps them out of all output as well.
void conceal_also(step::Inputs& inputs, const std::vector<std::string>& secrets);
// Does so with the Secrets of a run, while it is being followed. The inputs must outlive it.
class LearnedSecrets : public run::Listener {
 public:
  explicit LearnedSecrets(step::Inputs& inputs) : m_inputs(inputs) {}
  void hide(const std::vector<std::string>& secrets) override { conceal_also(m_inputs, secrets); }

 private:
  step::Inputs& m_inputs;
};
// Notices for the user who starts a job in a cluster, about its secrets and about variables that are not passed on.
std::vector<std::string> notices_of(const step::Inputs& inputs, const plan::Plan& plan);

// The subcommands render, run and check. Each returns the exit code (README.md, Exit codes).
int run_render(const StepCommand& command);
int run_run(const StepCommand& command);
int run_check(const StepCommand& command);

}  // namespace trainstep::cli
