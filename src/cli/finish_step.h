// The common end of every step, wherever it trained: outputs, report, last log lines.
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

// How a step reports to its pipeline, in addition to files and the log.
struct ToPipeline {
  // Uploads a page to an address; calls `done` once, from the loop. Null: not possible.
  std::function<void(const std::string& uri, std::string page, std::function<void(Result<void>)> done)> publish;
  std::string termination_log;                       // see termination_log.h
  std::map<std::string, std::string> contents = {};  // by address: the content of the program's outputs, as far as it was read
  // run::Backend::commit() or an equivalent; called once, after a success. Null: there is nothing to commit.
  std::function<Result<std::vector<std::string>>()> commit = {};
  int stopped = 0;                             // the signal, if it ended as cancelled
  const step::HeldFolders* folders = nullptr;  // step_summary.h
};

// The log, the console, Argo's progress file if there is one, and the record if requested (may be null).
class Listeners {
 public:
  // The log goes to `fd`, which is owned by the caller.
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

// Writes the outputs of the step and reports how it ended, also to the record, then calls `done`: immediately, or from the loop if the report of a
// failed step had to be uploaded. The verdict changes if outputs cannot be written. `plan` may be null. References must outlive `done`.
void finish_step(Loop& loop, Listeners& listeners, const step::Inputs& inputs, const plan::Plan* plan, run::Outcome& outcome,
                 const ToPipeline& pipeline, std::function<void()> done);

// How long the end of the log waits for a reader that does not read (docs/adr/0017-the-log.md): a person with a pager may take time, but a requested
// stop must not wait.
log::ReaderTimeout reader_timeout(const result::Verdict& verdict);

}  // namespace trainstep::cli
