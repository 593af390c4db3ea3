// SPDX-License-Identifier: Apache-2.0
#include "result/timeline.h"

#include <algorithm>

namespace trainstep::result {

void Timeline::enter(Phase phase, Time at) {
  if (current() == phase) return;
  if (!entries.empty()) at = std::max(at, entries.back().since);
  entries.push_back({phase, at});
}

void Timeline::finish(Time at) { end = entries.empty() ? at : std::max(at, entries.back().since); }

std::optional<Phase> Timeline::current() const {
  if (entries.empty() || end) return std::nullopt;
  return entries.back().phase;
}

Duration Timeline::spent_in(Phase phase, Time now) const {
  Duration sum{0};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].phase != phase) continue;
    const auto until = i + 1 < entries.size() ? entries[i + 1].since : end.value_or(now);
    sum += std::max(until - entries[i].since, Duration{0});
  }
  return sum;
}

Duration Timeline::in_current(Time now) const { return current() ? std::max(now - entries.back().since, Duration{0}) : Duration{0}; }

Duration Timeline::total(Time now) const { return entries.empty() ? Duration{0} : std::max(end.value_or(now) - entries.front().since, Duration{0}); }

}  // namespace trainstep::result
