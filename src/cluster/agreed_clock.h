// What time it is in the cluster, where its API server's clock and ours disagree. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/time.h"

namespace trainstep::cluster {

// How much the cluster's clock is ahead of ours: of the two that there are, ours and what the API server tells (`told`), the earlier one that is not
// before what the cluster has written already; two that agree are believed whatever was written. So no wrong clock alone makes a job older than it
// is. Unset: taken for ours.
inline std::optional<Duration> agreed_clock(std::optional<Duration> told, Time now, std::optional<Time> written) {
  constexpr Duration usual{60'000};  // clocks of one cluster differ by seconds
  const auto possible = [&](Duration ahead) { return !written || now + ahead >= *written - usual; };
  const Duration ours{0};
  if (told && std::chrono::abs(*told) <= usual) return std::min(*told, ours);
  if (told && *told < ours && possible(*told)) return told;
  if (possible(ours)) return told ? std::optional(ours) : std::nullopt;
  if (told && possible(*told)) return told;
  return *written - now;
}

}  // namespace trainstep::cluster
