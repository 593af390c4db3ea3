// The outputs of one local run: from the places that the program gets, over what may still change there, to the places that the step wants them at.
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

namespace trainstep::local {

class RunOutputs {
 public:
  // `scratch` goes with the run; it must outlive this.
  RunOutputs(const plan::Plan& plan, Scratch& scratch) : m_plan(plan), m_scratch(scratch) {}

  // `place`, the primary's, gets the paths to write to. Errors: those of open_outputs().
  Result<void> open(Place& place);
  // All folders are made; what is there now was there before the run.
  void begin_run() { m_before = look(); }
  void begin_attempt();

  // The primary's first process has ended well, and has left these running.
  void leaves_running(const std::vector<process::Process>& rest);
  // These are killed: who has an output open for writing then may leave half of it.
  void were_killed(const std::vector<process::Process>& killed) { are_stopped(killed, describe(killed)); }
  // The same of a replica `who` that is stopped since the training has succeeded.
  void are_stopped(const std::vector<process::Process>& processes, const std::string& who);
  // So were these, who were left when all members had ended.
  void outlived_all(const std::vector<process::Process>& rest);
  void ended_well();
  [[nodiscard]] bool has_ended() const { return m_at_end.has_value(); }

  // Nothing has changed since the end of those who were awaited. `late_failures`: who ended otherwise behind it, a sentence's part for each.
  // Error (input): it has, or cannot be known.
  [[nodiscard]] Result<void> check_settled(const std::vector<std::string>& late_failures) const;

  // Once settled. Links to what goes with the run are copies then; where the program names a place there, it stays. Errors: those of
  // collect_outputs() and of settle_links().
  Result<std::vector<run::OutputFound>> collect();
  // After it: what people should know of the logs among the outputs, a sentence each.
  [[nodiscard]] const std::vector<std::string>& told_of_logs() const { return m_told_of_logs; }
  // Those that were collected, to their places; sentences about what was there. Errors: conflict (it has changed since), those of
  // PendingOutput::commit().
  Result<std::vector<std::string>> commit(const GoOn& go_on);
  // Where outputs lie that were written but never committed, a sentence for each.
  [[nodiscard]] std::vector<std::string> left_behind() const;

 private:
  [[nodiscard]] PathSnapshots look() const;
  [[nodiscard]] bool vanishes(const std::filesystem::path& path) const;
  [[nodiscard]] Vanishes what_vanishes() const;  // for as long as this lives
  Result<void> settle_unbound(const run::OutputFound& output);
  void read_logs(run::OutputFound& output, const std::string& folder);

  const plan::Plan& m_plan;
  Scratch& m_scratch;
  Place m_place;                                    // the primary's
  std::map<std::string, std::string> m_step_paths;  // of its outputs, as the run began: the folder that we are in may be renamed
  PendingOutputs m_pending;
  std::map<std::string, PathSnapshot> m_to_commit;  // of those: what this run has written, as it was found
  PathSnapshots m_before;                           // of the run
  PathSnapshots m_before_attempt;                   // the last one
  Time m_attempt_began;
  std::optional<PathSnapshots> m_at_end;  // as the primary's first process ended well
  std::vector<std::string> m_told_of_logs;
  std::string m_left_running;  // by the primary then, for people; empty: nothing
  std::string m_torn;          // why an output cannot be whole; empty: nothing speaks against it
};

}  // namespace trainstep::local
