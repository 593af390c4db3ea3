// A line of a log as the kubelet sends it with timestamps=true.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainstep::kube {

// Nanoseconds since 1970: what RFC3339Nano holds.
using Stamp = std::int64_t;
constexpr Stamp stamps_per_second = 1'000'000'000;

// The second that a stamp lies in, before 1970 too.
std::int64_t second_of(Stamp stamp);
// "08:15:30" of its day, UTC, for messages.
std::string clock_time(Stamp stamp);

struct LogLine {
  Stamp stamp = 0;
  std::string_view text;  // of the same bytes
};

// "2026-11-21T08:15:30.123456789Z text", or with an offset like "+02:00": nodes may have time zones. None: no such line.
std::optional<LogLine> read_log_line(std::string_view line);

}  // namespace trainstep::kube
