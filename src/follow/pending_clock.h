// Decides how long a job may be kept from running: since when each kind of obstacle has lasted, and which limit it reaches first. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>

#include "follow/pending.h"
#include "plan/options.h"

namespace trainstep::follow {

// A user's limit for the phase in which it occurs replaces that of the table; what is final at once stays so.
std::optional<Duration> pending_limit(const Pending& pending, const plan::Limits& limits);

// Since when each kind of obstacle has lasted without interruption; the first that exceeds its limit ends the job.
class PendingClock {
 public:
  // `present`: by kind; null: there is none of that kind.
  using Present = std::array<const Pending*, Pending::kinds>;
  void see(const Present& present, Time at);
  // Starts all clocks again: what was seen before may not have lasted.
  void restart(Time at);
  struct Due {
    const Pending* pending = nullptr;  // one of `present`
    Duration lasted{};
    Duration left{};  // not positive: its limit has passed
  };
  // The one with the least time left; null: none has a limit.
  [[nodiscard]] Due next(const Present& present, const plan::Limits& limits, Time at) const;

 private:
  std::array<std::optional<Time>, Pending::kinds> m_since;
};

}  // namespace trainstep::follow
