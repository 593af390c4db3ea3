// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace trainstep {

Time wall_clock() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

std::string to_rfc3339(Time time) { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time))); }

std::string describe(Duration duration) {
  const auto ms = std::max<Duration::rep>(duration.count(), 0);
  if (ms < 9'950) return fmt::format("{:.1f} s", static_cast<double>(ms) / 1000.0);
  const auto seconds = (ms + 500) / 1000;
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} min", seconds / 3600, seconds % 3600 / 60);
}

}  // namespace trainstep
