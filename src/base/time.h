// The only clock type of the program: wall-clock milliseconds, UTC. Code that needs the time gets it as a value or from a Loop, so that tests and the
// simulator control it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace trainstep {

using Duration = std::chrono::milliseconds;
using Time = std::chrono::time_point<std::chrono::system_clock, Duration>;

// The current time (CLOCK_REALTIME); code that can be simulated uses Loop::now() instead.
Time wall_clock();

// "2026-11-21T08:15:30Z"
std::string to_rfc3339(Time time);
// "2026-11-21T08:15:30.123456789Z", "…+01:00"; truncated to milliseconds. nullopt: not a valid timestamp.
std::optional<Time> from_rfc3339(std::string_view text);
// For display: "0.4 s", "12 s", "3 min 05 s", "2 h 07 min"
std::string describe(Duration duration);

}  // namespace trainstep
