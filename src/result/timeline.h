// The phases of a run and how long each of them took.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace trainstep::result {

// In their usual order; a restart goes back to an earlier one.
enum class Phase {
  queued,      // accepted, waits for quota, a queue or its gang
  scheduling,  // pods exist, some without a place
  starting,    // placed; images, volumes and data are fetched
  running,     // the primary replica's program runs, and all others that it needs have a place
  finishing,   // the program has ended; outputs are carried home
};
inline constexpr std::array<Phase, 5> all_phases{Phase::queued, Phase::scheduling, Phase::starting, Phase::running, Phase::finishing};

constexpr std::string_view name(Phase phase) {
  constexpr std::array<std::string_view, 5> names{"queued", "scheduling", "starting", "running", "finishing"};
  return names.at(static_cast<std::size_t>(phase));
}

struct Timeline {
  struct Entry {
    Phase phase;
    Time since;
  };
  std::vector<Entry> entries;  // in the order of their times
  std::optional<Time> end;     // absent while the run goes on

  // To be in the same phase again is no new entry; a time before the last entry's (a clock set back) counts as the last entry's.
  void enter(Phase phase, Time at);
  void finish(Time at);
  [[nodiscard]] std::optional<Phase> current() const;

  // The time spent in `phase` so far, all its entries together; `now` counts only while there is no end.
  [[nodiscard]] Duration spent_in(Phase phase, Time now) const;
  // Since the latest entry into the current phase: what a phase's limit is held against. Zero before the first and after the end.
  [[nodiscard]] Duration in_current(Time now) const;
  // From the first entry to the end or now.
  [[nodiscard]] Duration total(Time now) const;
};

}  // namespace trainstep::result
