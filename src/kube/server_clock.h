// How far the API server's clock is ahead of ours, by its responses. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>

#include "base/time.h"

namespace trainstep::kube {

// One of several API servers, or a gateway, may have a wrong clock, and ours may jump: uses the response of the last minute that is closest to our
// clock.
class ServerClock {
 public:
  void add_sample(Time server, Time now) {
    m_samples.push_back({server - now, now});
    if (m_samples.size() > most) m_samples.pop_front();
  }
  // Unset: no response had a time.
  [[nodiscard]] std::optional<Duration> ahead(Time now) const {
    if (m_samples.empty()) return std::nullopt;
    auto nearest = m_samples.back().ahead;
    for (const auto& [ahead, at] : m_samples)
      if (std::chrono::abs(now - at) <= fresh && std::chrono::abs(ahead) < std::chrono::abs(nearest)) nearest = ahead;
    return nearest;
  }

 private:
  struct Sample {
    Duration ahead;
    Time at;
  };
  static constexpr std::size_t most = 8;
  static constexpr Duration fresh{60'000};
  std::deque<Sample> m_samples;
};

}  // namespace trainstep::kube
