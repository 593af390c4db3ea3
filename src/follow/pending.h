// Why a job does not run yet: the value that is read from the status (pending_status.h) and from events (pending_events.h), and timed by
// pending_clock.h. The table in docs/cluster.md, What pending and failing mean.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/time.h"
#include "result/verdict.h"

namespace trainstep::follow {

// How long what may pass is awaited.
inline constexpr Duration at_once{0};
inline constexpr Duration minutes_2{120'000};
inline constexpr Duration minutes_5{300'000};
inline constexpr Duration minutes_15{900'000};
inline constexpr Duration minutes_30{1'800'000};

struct Pending {
  // In the order in which they are reported if there are several.
  enum class Kind {
    refused,
    image_name,
    configuration,
    image,
    claim,
    pods_refused,
    webhook,
    container,
    registry,
    control_plane,
    initializing,
    unschedulable,
    quota
  };
  static constexpr std::size_t kinds = 13;
  Kind kind = Kind::quota;
  std::string who;                // who is pending: "worker-1", "PyTorchJob train-1"
  std::string cause;              // why, for people; starts with what follows `who`: ": …", " cannot be scheduled: …"
  std::optional<Duration> limit;  // after which it is final; unset: waits as long as the user's limits allow
  result::VerdictClass verdict_class = result::VerdictClass::input;  // when it is final
  [[nodiscard]] std::string what() const { return who + cause; }
};

}  // namespace trainstep::follow
