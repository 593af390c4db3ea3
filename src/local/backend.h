// The backend without a cluster: replicas as processes of this machine.
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
  std::filesystem::path run_dir;                                // the run's own place; is made
  std::filesystem::path scratch{};                              // make_scratch() of scratch.h: goes with the run; empty: one is made
  std::string python;                                           // interpreter: path or name; empty: python3 as the PATH has it
  process::Variables environment = process::own_environment();  // what the replicas inherit from
  std::optional<std::vector<std::string>> gpus;                 // CUDA ids of the machine; absent: looked up (gpus.h)
};

// Members are numbered as gang() (gang.h) numbers them. Below run_dir: `<member>/` is the working directory of each, with private outputs in
// `<member>/outputs/`; the primary's outputs go to the step's paths, when commit() is called, unmapped ones to `outputs/<name>`. The image is not
// used.
//
// Events never come from within prepare(), start() or stop(), only from the loop. MemberOutput of "setup" may come before Prepared. A member that
// cannot be started is BackendFailed. After MemberEnded no process of that member is alive and no line of it is outstanding. The object may not be
// destroyed from within the sink; its destructor kills whatever runs.
// One per process at a time (it owns SIGCHLD).
class LocalBackend : public run::Backend {
 public:
  LocalBackend(PollLoop& loop, const plan::Plan& plan, LocalOptions options);
  ~LocalBackend() override;
  LocalBackend(const LocalBackend&) = delete;
  LocalBackend& operator=(const LocalBackend&) = delete;

  // Makes folders and command lines, divides GPUs, looks for mpirun, installs missing Python packages once.
  // BackendFailed (input): a command that is not on this machine, too few GPUs, no mpirun, packages that cannot be installed.
  void prepare(Sink sink) override;
  void start(const follow::StartMember& order) override;
  void stop(const follow::StopMember& order) override;
  void hold_output(Pressure pressure) override;
  void on_unfinished(Unfinished call) override;
  Result<std::vector<run::OutputFound>> collect() override;
  Result<std::vector<std::string>> commit() override;
  // Before commit(): asked while what is delivered is copied, and before the first output is put to its place. Its error is commit()'s.
  void ask_before_delivery(GoOn go_on) { m_go_on = std::move(go_on); }

  // Where outputs lie that were written but never committed, a sentence for each.
  [[nodiscard]] std::vector<std::string> left_behind() const;

  // Removes the run's temporary folder when all is done, so that it can be told what stays; else the destructor does. Errors: those of remove_tree().
  Result<void> remove_temporary();

  [[nodiscard]] std::vector<std::string> member_names() const;

 private:
  class Impl;
  std::unique_ptr<Impl> m_impl;
  GoOn m_go_on;
};

}  // namespace trainstep::local
