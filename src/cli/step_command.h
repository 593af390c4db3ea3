// What `run` and `render` have in common: the inputs of a step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "log/level.h"
#include "plan/plan.h"
#include "step/inputs.h"

namespace trainstep::cli {

struct StepCommand {
  step::Flags flags;            // every flag of the interface that was given, and the words that belong to none
  std::string cluster;          // run: "local", "kubernetes"; empty: not said
  std::string context;          // run: of the kubeconfig; empty: the current one
  std::string python;           // run
  std::string run_dir;          // run
  std::string record;           // run: a file for the events; empty: none
  std::string exit_code_file;   // exit_code_file.h, which is open already; empty: none
  std::string termination_log;  // run: of this container (termination_log.h); empty: none
  log::Options log_options;
  bool python_json = false;  // run
  bool explain = false;      // render
  std::string api_version;   // render: "kubeflow.org/v1"; empty: the best
};

// The flags and this process's context, read.
Result<step::Inputs> read_inputs(const StepCommand& command);
// Before anything is said of what the plan holds: its secrets become some of the inputs', and those are left out from now on (conceal()).
void conceal_all(step::Inputs& inputs, const plan::Plan& plan);
// What whoever starts a job in a cluster should know of its secrets, and of variables that it does not get.
std::vector<std::string> notices_of(const step::Inputs& inputs, const plan::Plan& plan);

int run_render(const StepCommand& command);
int run_run(const StepCommand& command);
int run_check(const StepCommand& command);

}  // namespace trainstep::cli
