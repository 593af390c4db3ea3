// Why a job does not run yet, and how long that may last: the table of what pending means (docs/cluster.md). Pure.
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

struct Pending {
  // In the order of what is told when there are several.
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
  std::string who;                // who waits: "worker-1", "PyTorchJob train-1"
  std::string cause;              // what for, for people; begins with what joins it to `who`: ": …", " finds no place: …"
  std::optional<Duration> limit;  // after which it is final; unset: it is waited for, as long as the user's limits allow
  result::VerdictClass verdict_class = result::VerdictClass::input;  // when it is final
  [[nodiscard]] std::string what() const { return who + cause; }
};

// What keeps this pod from running; none: nothing is known.
std::optional<Pending> pending_of(const Member& member, const job_types::PodView& pod);
// What a Warning event of a job tells about pods that do not exist; none: it is about something else.
std::optional<Pending> pending_of(const WarningSeen& warning);

// A limit that the user has set for the phase in which it shows counts instead of the table's; what is final at once stays so.
std::optional<Duration> limit_of(const Pending& pending, const plan::Limits& limits);

// Since when each kind of trouble has lasted without a pause; whichever has lasted too long first is the end.
class PendingClock {
 public:
  // `present`: by kind; null: there is none of that kind.
  using Present = std::array<const Pending*, Pending::kinds>;
  void see(const Present& present, Time at);
  // Everything begins anew: what was seen before is not known to have lasted.
  void restart(Time at);
  struct Due {
    const Pending* pending = nullptr;  // one of `present`
    Duration lasted{};
    Duration left{};  // not above zero: its limit has passed
  };
  // The one with the least time left; null: none has a limit.
  [[nodiscard]] Due next(const Present& present, const plan::Limits& limits, Time at) const;

 private:
  std::array<std::optional<Time>, Pending::kinds> m_since;
};

}  // namespace trainstep::follow
