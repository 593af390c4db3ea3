// One run of an exec plug-in: a child process that is polled; only wait() blocks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "base/fd.h"
#include "kube/credentials.h"
#include "kube/exec_credential.h"

namespace trainstep::kube {

class PluginRun {
 public:
  // Starts it; a failure to start is returned by look().
  PluginRun(const ExecPlugin& plugin, Duration limit);
  PluginRun(const PluginRun&) = delete;
  PluginRun& operator=(const PluginRun&) = delete;
  // Kills it with its process group if it is still running.
  ~PluginRun();

  // Its output once it has exited (even if a daemon it started keeps the pipe open), or an error as for run_exec_plugin(). nullopt: still running.
  // Never blocks.
  std::optional<Result<std::string>> look();
  // The same, after waiting for it to exit.
  Result<std::string> wait();

 private:
  void start();
  void read();
  void kill_and_reap();
  void end_watcher();
  [[nodiscard]] Result<std::string> verdict(int status) const;
  [[nodiscard]] std::string hint() const;

  const ExecPlugin& m_plugin;
  Duration m_limit;
  std::chrono::steady_clock::time_point m_deadline;
  pid_t m_pid = 0;      // 0: reaped, or never started
  pid_t m_watcher = 0;  // kills the plug-in and its children if we are killed
  Fd m_out;
  std::string m_printed;
  std::optional<Error> m_problem;
};

}  // namespace trainstep::kube
