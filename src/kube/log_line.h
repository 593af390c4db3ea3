// A log line as the kubelet sends it with timestamps=true.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainstep::kube {

// Nanoseconds since 1970: the resolution of RFC3339Nano.
using Stamp = std::int64_t;
constexpr Stamp stamps_per_second = 1'000'000'000;

// The second of a timestamp, also before 1970.
std::int64_t second_of(Stamp stamp);
// "08:15:30", the time of day in UTC, for messages.
std::string clock_time(Stamp stamp);

struct LogLine {
  Stamp stamp = 0;
  std::string_view text;  // a view of the parsed line
};

// "2026-11-21T08:15:30.123456789Z text", or with an offset such as "+02:00": nodes may have time zones. nullopt: not such a line.
std::optional<LogLine> read_log_line(std::string_view line);

}  // namespace trainstep::kube
