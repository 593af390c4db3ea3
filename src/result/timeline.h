// The phases of a run and the duration of each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace trainstep::result {

// In their usual order; a restart returns to an earlier one.
enum class Phase {
  queued,      // accepted, waiting for quota, a queue or its gang
  scheduling,  // pods exist, some are not scheduled
  starting,    // scheduled; images, volumes and data are being fetched
  running,     // the primary replica's program is running, and all other replicas that it needs are scheduled
  finishing,   // the program has ended; outputs are being transferred
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
  std::vector<Entry> entries;  // ordered by time
  std::optional<Time> end;     // absent while the run continues

  // Entering the current phase again adds no entry; a time before that of the last entry (the clock was set back) is replaced by it.
  void enter(Phase phase, Time at);
  void finish(Time at);
  [[nodiscard]] std::optional<Phase> current() const;

  // The time spent in `phase` so far, summed over its entries; `now` is used only if there is no end.
  [[nodiscard]] Duration spent_in(Phase phase, Time now) const;
  // The time since the current phase was entered last, to which the limit of a phase applies. Zero before the first entry and after the end.
  [[nodiscard]] Duration in_current(Time now) const;
  // From the first entry to the end, or to `now`.
  [[nodiscard]] Duration total(Time now) const;
};

}  // namespace trainstep::result
