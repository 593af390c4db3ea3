// The processor time of this process: what something costs, however busy the machine is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ctime>

namespace trainstep::test {

inline std::chrono::nanoseconds cpu_time() {
  std::timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace trainstep::test
