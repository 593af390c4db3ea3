// Why a job does not run yet, and how long that may last: the table in docs/cluster.md, What pending and failing mean. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "follow/event.h"
#include "follow/rules.h"
#include "result/verdict.h"

namespace trainstep::follow {

// How long what may pass is awaited.
inline constexpr Duration minutes_5{300'000};
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

// What keeps this pod from running; nullopt: nothing is known.
std::optional<Pending> pending_of(const Member& member, const job_types::PodView& pod);
// What a Warning event of a job says about pods that do not exist; nullopt: it is about something else.
std::optional<Pending> pending_of(const WarningSeen& warning);

// A user's limit for the phase in which it occurs replaces that of the table; what is final at once stays so.
std::optional<Duration> limit_of(const Pending& pending, const plan::Limits& limits);

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
