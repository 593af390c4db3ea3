// A run as a file: the rules, every event, and how the step ended, as JSON lines. Replayed into the same state machine, the events give the same
// actions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "base/result.h"
#include "data/json.h"
#include "follow/event.h"
#include "follow/job_run_state.h"
#include "follow/run_state.h"
#include "result/verdict.h"

namespace trainstep::follow {

// The first line: {"trainstep": VERSION, "machine": "job" or "gang", "at": MS, "rules": …}. Times are milliseconds since 1970.
Json record_of(const Rules& rules, const JobRules* job_rules, Time began);
// One line for each event: {"at": MS, "event": NAME, …}.
Json record_of(const Event& event);
// The last line: {"at": MS, "event": "end", …}. The verdict of the step, which its outputs may have changed after that of the state machine.
Json record_of(const result::Verdict& verdict, Time at);

struct Replay {
  std::unique_ptr<RunState> machine;
  Time began;
};
// Errors (input): the line is not a head, or has the format of another version.
Result<Replay> read_head(const Json& line);
// The text of MemberOutput is in `line`, which must outlive the event. `members`: their number.
Result<Event> read_event(const Json& line, std::size_t members);

struct RecordedEnd {
  result::Verdict verdict;
  Time at;
};
// nullopt: the line is not the last one. Error (input): it is incomplete.
Result<std::optional<RecordedEnd>> read_end(const Json& line);

}  // namespace trainstep::follow
