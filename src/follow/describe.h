// Describes what a state machine decided and why, for the log level "debug", and the limits that it observes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "follow/event.h"
#include "follow/rules.h"

namespace trainstep::follow {

// "member_ended {"member":0,"ending":{"exit_code":1}}: stop worker-0 within 5.0 s; timer 5 in 20 s". The event as in a record, without secrets,
// shortened. Empty: nothing was decided; showing a line is not a decision.
std::string describe_decision(const Event& event, const std::vector<Action>& actions, const Rules& rules);

// A limit that a user has set, as base/time.h describes durations, but one of less than a tenth of a second as it is: "1 ms".
std::string describe_limit(Duration limit);

}  // namespace trainstep::follow
