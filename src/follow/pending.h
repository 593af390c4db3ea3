// Why a job does not run yet, and how long that may last: the table of what pending means (docs/cluster.md). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "follow/event.h"
#include "follow/rules.h"
#include "result/verdict.h"

namespace trainstep::follow {

struct Pending {
  // In the order of what is told when there are several.
  enum class Kind { refused, image_name, configuration, image, claim, pods_refused, unschedulable, quota };
  Kind kind = Kind::quota;
  std::string what;               // for people: who waits, for what
  std::optional<Duration> limit;  // after which it is final; unset: it is waited for, as long as the user's limits allow
};

// A Warning event that tells why pods are not made.
struct Warning {
  std::string object, reason, message;
};

// `pods`: by member; null: it has none. What keeps the job from running, the gravest first in the order of Kind; none: nothing is known.
std::optional<Pending> pending_of(const std::vector<Member>& members, const std::vector<const kinds::PodView*>& pods,
                                  const std::vector<Warning>& warnings);

}  // namespace trainstep::follow
