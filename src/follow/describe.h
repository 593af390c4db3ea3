// Describes what a state machine decided and why, for the log level "debug".
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

}  // namespace trainstep::follow
