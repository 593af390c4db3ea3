// One run of an exec plug-in: a child that is looked at, never waited for, unless somebody asks to.
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
  // Starts it; that it cannot be started is told by look().
  PluginRun(const ExecPlugin& plugin, Duration limit);
  PluginRun(const PluginRun&) = delete;
  PluginRun& operator=(const PluginRun&) = delete;
  // Kills it with its process group, if it has not ended.
  ~PluginRun();

  // What it has printed, once it has ended (a daemon that it leaves may hold its output open), or why there is nothing: as run_exec_plugin(). Never
  // blocks.
  std::optional<Result<std::string>> look();
  // The same, when it has ended.
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
  pid_t m_pid = 0;      // 0: it has been reaped, or never was
  pid_t m_watcher = 0;  // ends it and what it has begun, if we are killed
  Fd m_out;
  std::string m_printed;
  std::optional<Error> m_problem;
};

}  // namespace trainstep::kube
