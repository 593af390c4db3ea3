// The time in the cluster if the clocks of its API server and of this machine differ. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/time.h"

namespace trainstep::cluster {

// How far the cluster's clock is ahead of ours. Of the two candidates, our clock and the one that the API server reports (`told`), takes the earlier
// one that is not before what the cluster has already written; two that agree are trusted whatever was written. So a single wrong clock never makes a
// job older than it is. Unset: assumed to be equal.
inline std::optional<Duration> agreed_clock(std::optional<Duration> told, Time now, std::optional<Time> written) {
  constexpr Duration usual{60'000};  // clocks of one cluster differ by seconds
  const auto possible = [&](Duration ahead) { return !written || now + ahead >= *written - usual; };
  const Duration ours{0};
  if (told && std::chrono::abs(*told) <= usual) return std::min(*told, ours);
  if (told && *told < ours && possible(*told)) return told;
  if (possible(ours)) return told ? std::optional(ours) : std::nullopt;
  if (told && possible(*told)) return told;
  return written ? std::optional(*written - now) : std::nullopt;
}

}  // namespace trainstep::cluster
