// The outputs of one local run: from the paths that the program gets, through checks that nothing changes them later, to the paths of the step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "data/path_snapshot.h"
#include "local/collect.h"
#include "local/pending_outputs.h"
#include "local/place.h"
#include "local/scratch.h"
#include "plan/plan.h"
#include "process/descendants.h"
#include "run/backend.h"
#include "tensorboard/event_files.h"

namespace trainstep::local {

class RunOutputs {
 public:
  // `scratch` is removed with the run; it must outlive this.
  RunOutputs(const plan::Plan& plan, Scratch& scratch) : m_plan(plan), m_scratch(scratch) {}

  // `place`, the primary's, gets the paths to write to. Errors: those of open_outputs().
  Result<void> open(Place& place);
  // Call once all folders exist; what is there now existed before the run.
  void begin_run() { m_before = look(); }
  void begin_attempt();

  // The primary's first process has succeeded, and has left these running.
  void leaves_running(const std::vector<process::Process>& rest);
  // These were killed: one that had an output open for writing may have left it incomplete.
  void were_killed(const std::vector<process::Process>& killed) { are_stopped(killed, describe(killed)); }
  // The same for a replica `who` that is stopped because the training has succeeded.
  void are_stopped(const std::vector<process::Process>& processes, const std::string& who);
  // The same for processes that were still running when all members had ended.
  void outlived_all(const std::vector<process::Process>& rest);
  void ended_well();
  [[nodiscard]] bool has_ended() const { return m_at_end.has_value(); }

  // Checks that nothing has changed since the awaited processes ended. `late_failures`: members that failed after that, part of a sentence for each.
  // Error (input): something has changed, or that is unknown.
  [[nodiscard]] Result<void> check_settled(const std::vector<std::string>& late_failures) const;

  // Call once settled. Replaces links to what is removed with the run by copies; if the program names a place there, that is kept. Errors: those of
  // collect_outputs() and of resolve_links().
  Result<std::vector<run::OutputFound>> collect();
  // After collect(): messages about the logs among the outputs, one sentence each.
  [[nodiscard]] const std::vector<std::string>& told_of_logs() const { return m_told_of_logs; }
  // Moves the collected outputs to their paths; returns sentences about what was there. Errors: conflict (an output has changed since), those of
  // PendingOutput::commit().
  Result<std::vector<std::string>> commit(const CheckCancelled& go_on);
  // Where outputs are that were written but never committed, one sentence each.
  [[nodiscard]] std::vector<std::string> left_behind() const;

 private:
  [[nodiscard]] PathSnapshots look() const;
  [[nodiscard]] bool vanishes(const std::filesystem::path& path) const;
  [[nodiscard]] IsTemporary what_vanishes() const;  // valid as long as this object
  Result<void> settle_unbound(const run::OutputFound& output);
  void read_logs(run::OutputFound& output, const std::string& folder);

  const plan::Plan& m_plan;
  Scratch& m_scratch;
  Place m_place;                                    // the primary's
  std::map<std::string, std::string> m_step_paths;  // of its outputs, as the run began: our current directory may be renamed
  PendingOutputs m_pending;
  std::map<std::string, PathSnapshot> m_to_commit;  // of the pending outputs, those that this run has written, as collected
  std::vector<std::string> m_no_files;              // of the pending outputs, folders where a file is expected
  bool m_uncopied = false;                          // links of one lead to the scratch folder, because the copies failed
  PathSnapshots m_before;                           // of the run
  PathSnapshots m_before_attempt;                   // before the latest attempt
  tensorboard::Start m_attempt_began;
  std::optional<PathSnapshots> m_at_end;  // when the primary's first process succeeded
  std::vector<std::string> m_told_of_logs;
  std::string m_left_running;  // by the primary then, for messages; empty: nothing
  std::string m_torn;          // why an output may be incomplete; empty: no such reason
};

}  // namespace trainstep::local
