// What is the same at the end of every step, wherever it trained: outputs, report, the last words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "cli/console.h"
#include "cli/recorder.h"
#include "log/back_pressure.h"
#include "log/log.h"
#include "plan/plan.h"
#include "run/outcome.h"
#include "step/held_folders.h"
#include "step/inputs.h"

namespace trainstep::cli {

// How a step reaches its pipeline, besides files and the log.
struct ToPipeline {
  // Puts a page at an address; `done` once, from the loop. Null: nobody can.
  std::function<void(const std::string& uri, std::string page, std::function<void(Result<void>)> done)> publish;
  std::string termination_log;                       // see termination_log.h
  std::map<std::string, std::string> contents = {};  // by address: what lies there of the program's outputs, as far as it was read
  // run::Backend::commit(), or what does the same; called once, after a success. Null: there is nothing to commit.
  std::function<Result<std::vector<std::string>>()> commit = {};
  int stopped = 0;                             // by which signal, where that ended as cancelled
  const step::HeldFolders* folders = nullptr;  // story.h
};

// The log, the console, Argo's progress file where there is one, the record if it is wanted (may be null).
class Listeners {
 public:
  // The log goes to `fd`, which stays the caller's.
  Listeners(Loop& loop, log::Options options, std::unique_ptr<Recorder> recorder, int fd = STDOUT_FILENO);
  [[nodiscard]] log::Log& own_log() { return m_log; }
  [[nodiscard]] Console& console() { return m_console; }
  [[nodiscard]] std::vector<run::Listener*> all();
  // The step is over, with this verdict.
  void ended(Time at, const result::Verdict& verdict);

 private:
  log::Log m_log;
  Console m_console;
  std::unique_ptr<ProgressFile> m_progress_file;
  std::unique_ptr<Recorder> m_recorder;
};

// Writes the step's outputs and tells how it ended, the record too, then calls `done`: at once, or from the loop when the report of a failed step had
// to be published. The verdict changes when outputs cannot be written. `plan` may be null. References must outlive `done`.
void hand_over(Loop& loop, Listeners& listeners, const step::Inputs& inputs, const plan::Plan* plan, run::Outcome& outcome,
               const ToPipeline& pipeline, std::function<void()> done);

// How long the end of the log waits for a reader who takes nothing (docs/adr/0017-the-log.md): whoever pages through it may think; whoever has asked
// for an end is to have it.
log::Patience patience_with_reader(const result::Verdict& verdict);

}  // namespace trainstep::cli
