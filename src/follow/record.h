// A run as a file: the rules, every event, and how the step ended, as lines of JSON. Given to the same state machine again, the events make the same
// story.
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
// A line for each event: {"at": MS, "event": NAME, …}.
Json record_of(const Event& event);
// The last line: {"at": MS, "event": "end", …}. The step's verdict, which its outputs may have changed after the machine's.
Json record_of(const result::Verdict& verdict, Time at);

struct Replay {
  std::unique_ptr<RunState> machine;
  Time began;
};
// Errors (input): the line is none of these, or of another version's shape.
Result<Replay> read_head(const Json& line);
// The text of MemberOutput lives in `line`, which must outlive the event. `members`: how many there are.
Result<Event> read_event(const Json& line, std::size_t members);

struct RecordedEnd {
  result::Verdict verdict;
  Time at;
};
// Nothing: the line is another than the last. Error (input): it is not complete.
Result<std::optional<RecordedEnd>> read_end(const Json& line);

}  // namespace trainstep::follow
