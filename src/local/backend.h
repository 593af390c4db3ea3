// The backend without a cluster: replicas are processes on this machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/poll_loop.h"
#include "data/output_links.h"
#include "plan/plan.h"
#include "process/child.h"
#include "run/backend.h"

namespace trainstep::local {

struct LocalOptions {
  std::filesystem::path run_dir;                                // the run's folder; created
  std::filesystem::path scratch{};                              // make_scratch() of scratch.h: removed with the run; empty: one is created
  std::filesystem::path folder{};                               // working directory of all members; empty: each has its own
  std::string python;                                           // interpreter: path or name; empty: python3 from the PATH
  process::Variables environment = process::own_environment();  // inherited by the replicas
  std::optional<std::vector<std::string>> gpus;                 // CUDA ids of the machine; nullopt: detected (gpus.h)
};

// Members are numbered as in gang() (gang.h). Below run_dir, `<member>/` is the folder of each member – its working directory, unless LocalOptions
// has another –, with its private outputs in `<member>/outputs/`; the primary's outputs are moved to the step's paths by commit(), those without a
// path are in `outputs/<name>`. The image is not used.
//
// Events are emitted only from the loop, never from within prepare(), start() or stop(). MemberOutput of "setup" may precede Prepared. A member that
// cannot be started results in BackendFailed. After MemberEnded no process of that member is alive, and all its output has been emitted. Do not
// destroy the object from within the sink; its destructor kills all running processes.
// Only one per process at a time (it owns SIGCHLD).
class LocalBackend : public run::Backend {
 public:
  LocalBackend(PollLoop& loop, const plan::Plan& plan, LocalOptions options);
  ~LocalBackend() override;
  LocalBackend(const LocalBackend&) = delete;
  LocalBackend& operator=(const LocalBackend&) = delete;

  // Creates folders and command lines, divides the GPUs, looks for mpirun, and installs missing Python packages once.
  // BackendFailed (input): a command that is not on this machine, too few GPUs, no mpirun, packages that cannot be installed.
  void prepare(Sink sink) override;
  void start(const follow::StartMember& order) override;
  void stop(const follow::StopMember& order) override;
  void hold_output(Pressure pressure) override;
  void on_unfinished(const Unfinished& call) override;
  Result<std::vector<run::OutputFound>> collect() override;
  Result<std::vector<std::string>> commit() override;
  // Call before commit(). `go_on` is called while outputs are copied, and before the first output is moved to its path. If it fails, commit() fails
  // with its error.
  void ask_before_delivery(CheckCancelled go_on) { m_go_on = std::move(go_on); }

  // Where outputs are that were written but never committed, one sentence each.
  [[nodiscard]] std::vector<std::string> left_behind() const;

  // Removes the run's temporary folder at the end, so that what remains can be reported; otherwise the destructor removes it. Errors: those of
  // remove_tree().
  Result<void> remove_temporary();

  [[nodiscard]] std::vector<std::string> member_names() const;

 private:
  class Impl;
  std::unique_ptr<Impl> m_impl;
  CheckCancelled m_go_on;
};

}  // namespace trainstep::local
