// How long our pod may still live once it was told to end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/loop.h"
#include "base/time.h"

namespace trainstep::cluster {

class TimeLeft {
 public:
  explicit TimeLeft(Loop& loop) : m_loop(loop) {}

  // When our pod will get SIGKILL, by our own clock.
  void set(Time killed_at) { m_killed_at = killed_at; }
  [[nodiscard]] bool is_limited() const { return m_killed_at.has_value(); }
  // Kubernetes' usual grace if it is not limited; in both cases less what the log lines after the last response need.
  [[nodiscard]] Duration left() const {
    constexpr Duration usual_grace{30'000}, for_last_lines{1'000};
    const auto left =
        m_killed_at ? std::clamp(std::chrono::duration_cast<Duration>(*m_killed_at - m_loop.now()), Duration{0}, usual_grace * 1'000) : usual_grace;
    return left - std::min(for_last_lines, left / 4);
  }
  // `usual`; if the time is limited, no more than three quarters of what is left.
  [[nodiscard]] Duration at_most(Duration usual) const { return is_limited() ? std::min(usual, left() * 3 / 4) : usual; }

 private:
  Loop& m_loop;
  std::optional<Time> m_killed_at;
};

}  // namespace trainstep::cluster
