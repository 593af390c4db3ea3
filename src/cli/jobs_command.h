// Commands for people at a shell: list, attach, logs, stop (each in its NAME_command.cpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "log/level.h"

namespace trainstep::cli {

struct JobsCommand {
  std::string context;     // of the kubeconfig; empty: the pod's own cluster, otherwise the current one
  std::string name_space;  // empty: that of the pod or context
  std::string run;         // run id or job name
  std::string replica;     // logs: "worker-1"; empty: the primary
  std::string metrics;     // attach: files to write at the end; empty: none
  std::string report;
  std::string exit_code_file;  // attach: it is none of the two
  log::Options log_options;
};

// All return the exit code.
int run_list(const JobsCommand& command);
int run_attach(const JobsCommand& command);
int run_logs(const JobsCommand& command);
int run_stop(const JobsCommand& command);

}  // namespace trainstep::cli
